/// The picture of the README: what a notification costs with one view observing, as four bars.
///
/// In multiples of a loop that is written by hand, which say something on any system; with the nanoseconds of this one.
/// It is as wide as a phone's screen, has its own background, light or dark like the reader's system, and is readable without
/// its style sheet.
struct ViewChart {
    private let conditions: Conditions
    private let figures: [(name: String, nanoseconds: Double)]
    private let loop: Double

    /// Nil if the table was not measured.
    init?(_ report: Report) {
        guard let table = report.tables.first(where: { $0.name == ViewRows.section.name }) else { return nil }
        conditions = report.conditions
        figures = table.series.compactMap { series in series.figures[0].map { (series.name, $0.median) } }
        guard let loop = figures.first(where: { $0.name == ViewRows.System.loop.rawValue }) else { return nil }
        self.loop = loop.nanoseconds
    }

    private static let (width, left, right, top, row, bar) = (480.0, 16.0, 340.0, 50.0, 52.0, 20.0)

    var svg: String {
        let axis = Self.top + Double(figures.count) * Self.row
        let height = axis + 94
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(height))" role="img" \
            aria-labelledby="title" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="15">
            <title id="title">A notification with one view observing: \(figures.map { "\($0.name) \(label($0.nanoseconds))" }.joined(separator: "; "))</title>
            <style>
            @media (prefers-color-scheme: dark) {
              text { fill: #f0f6fc } .ground { fill: #0d1117 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
              .other { fill: #9198a1 } .ours { fill: #58a6ff }
            }
            </style>
            <rect class="ground" width="100%" height="100%" rx="8" fill="#ffffff"/>
            \(text(Self.left, 28, "One notification, one view observing", more: " font-weight=\"600\" font-size=\"17\""))
            \((grid(to: axis) + bars).joined(separator: "\n"))
            \(text(Self.left, axis + 42, "times the hand-written loop; shorter is better"))
            \(text(Self.left, axis + 66, "\(conditions.place), Swift \(conditions.swift), \(conditions.date)", faint: true))
            \(text(Self.left, axis + 84, "\(conditions.processor), \(conditions.cores) cores; on the main actor", faint: true))
            </svg>

            """
    }

    private var most: Double { figures.map { $0.nanoseconds / loop }.max() ?? 1 }

    private func x(_ multiple: Double) -> Double { Self.left + (Self.right - Self.left) * multiple / most }

    /// Lines at round figures, with these figures below.
    private func grid(to axis: Double) -> [String] {
        let steps = [1.0, 2, 5, 10, 20, 50, 100, 200, 500]
        let step = steps.first { most / $0 <= 5 } ?? 1_000
        return stride(from: 0, through: most, by: step).flatMap { multiple in
            [
                "<path class=\"grid\" stroke=\"#d1d9e0\" d=\"M\(round(x(multiple))) \(Self.top - 6)V\(axis)\"/>",
                text(x(multiple), axis + 18, "\(Int(multiple))", faint: true, more: " text-anchor=\"middle\""),
            ]
        }
    }

    private var bars: [String] {
        figures.enumerated().flatMap { index, figure in
            let y = Self.top + Double(index) * Self.row
            let isOurs = figure.name == ViewRows.System.ours.rawValue
            let weight = isOurs ? " font-weight=\"600\"" : ""
            return [
                text(Self.left, y + 14, figure.name, more: weight),
                "<rect class=\"\(isOurs ? "ours" : "other")\" fill=\"\(isOurs ? "#0969da" : "#818b98")\" x=\"\(Self.left)\" "
                    + "y=\"\(y + 20)\" width=\"\(round(x(figure.nanoseconds / loop) - Self.left))\" height=\"\(Self.bar)\"/>",
                text(x(figure.nanoseconds / loop) + 6, y + 35, label(figure.nanoseconds), more: weight),
            ]
        }
    }

    private func text(_ x: Double, _ y: Double, _ text: String, faint: Bool = false, more: String = "") -> String {
        let style = faint ? " class=\"faint\" fill=\"#59636e\" font-size=\"13\"" : " fill=\"#1f2328\""
        return "<text\(style)\(more) x=\"\(round(x))\" y=\"\(round(y))\">\(text)</text>"
    }

    /// A tenth of the loop is seen only where that is much.
    private func label(_ nanoseconds: Double) -> String {
        let multiple = nanoseconds / loop
        let rounded = multiple < 10 ? "\((multiple * 10).rounded() / 10)" : "\(Int(multiple.rounded()))"
        return "\(rounded) × (\(Int(nanoseconds.rounded())) ns)"
    }

    /// Rounds to a tenth of a pixel, since less is not visible.
    private func round(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}
