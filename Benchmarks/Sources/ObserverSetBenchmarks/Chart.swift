import Foundation

/// A picture of a report: the memory of sets with few observers, the cost of a notification against the number of
/// observers, and the throughput of several threads.
///
/// It has its own background, light or dark like the reader's system.
struct Chart {
    private let conditions: Conditions
    private let sizes: Section.Result?
    private let costs: Section.Result?
    private let throughputs: Section.Result?

    init(_ report: Report) {
        conditions = report.conditions
        sizes = report.tables.first { $0.unit == "bytes" }
        costs = report.tables.first { $0.name == Scaling.notify.name }
        throughputs = report.tables.first { $0.name == Scaling.contention.name }
    }

    /// The systems that are shown, with the style class of each; fewer than are measured, so that the chart is
    /// readable.
    ///
    /// In the order in which they are drawn: thick lines first, since the following ones lie almost on top of them.
    private static let shown: [(system: System, style: String)] = [
        (.loop, "loop"), (.ours, "ours plain"), (.nonisolated, "ours nonisolated"), (.local, "ours local"),
        (.array, "array"), (.center, "center"), (.queue, "queue"),
    ]

    private static let width = 960.0
    private static let height = 1300.0

    var svg: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" role="img" \
        aria-labelledby="title">
        <title id="title">What a set with few observers takes, and what a notification costs, against their number and on several threads</title>
        <style>
        \(Self.style)
        </style>
        <rect class="ground" width="100%" height="100%" rx="8"/>
        \(everyday.joined(separator: "\n"))
        <g transform="translate(0 \(Int(Everyday.height)))">
        \((lines + bars).joined(separator: "\n"))
        </g>
        \(text(24, Self.height - 20, "\(conditions)", "faint small"))
        </svg>

        """
    }

    // Colours that colour-blind readers can distinguish, too.
    private static let style = """
        text { font: 14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
        .heading { font-size: 18px; font-weight: 600 } .small { font-size: 12px } .bold { font-weight: 600 }
        .end { text-anchor: end } .middle { text-anchor: middle }
        .ground { fill: #ffffff } .faint { fill: #59636e } .grid { stroke: #d1d9e0; stroke-width: 1 }
        polyline { fill: none; stroke-width: 2; stroke-linejoin: round } .leader { stroke-width: 1; opacity: 0.6 }
        polyline.loop { stroke-width: 7; opacity: 0.5 } polyline.plain { stroke-width: 4 }
        polyline.nonisolated { stroke-dasharray: 9 7 } polyline.local { stroke-dasharray: 2 6 }
        .plain { --c: #0969da } .nonisolated { --c: #1b7c83 } .local { --c: #1a7f37 }
        .loop { --c: #818b98 } .array { --c: #9a6700 } .queue { --c: #bf3989 } .center { --c: #bc4c00 }
        polyline, .leader { stroke: var(--c) } rect.bar, circle, text.label { fill: var(--c) }
        @media (prefers-color-scheme: dark) {
          text { fill: #f0f6fc } .ground { fill: #0d1117 } .faint { fill: #9198a1 } .grid { stroke: #3d444d }
          .plain { --c: #58a6ff } .nonisolated { --c: #39c5cf } .local { --c: #56d364 }
          .loop { --c: #9198a1 } .array { --c: #e3b341 } .queue { --c: #ff7bb5 } .center { --c: #ff9b50 }
        }
        """

    // MARK: Sizes, as bars

    private enum Everyday {
        // The longest name of a series ends left of the columns' names in every font of the style.
        static let (top, left, right, height) = (36.0, 470.0, 880.0, 430.0)
        static let (bar, gap) = (17.0, 12.0)
        /// In the order of the series.
        static let styles = ["ours plain", "ours nonisolated", "ours plain", "ours local", "queue", "center"]
    }

    private var everyday: [String] {
        guard let sizes else { return [] }
        let most = sizes.series.flatMap { $0.figures.compactMap { $0?.median } }.max() ?? 1
        var parts = [text(24, Everyday.top, "Bytes of a set with few observers", "heading")]
        var y = Everyday.top + 18
        for (series, style) in zip(sizes.series, Everyday.styles) {
            parts.append(text(24, y + 1.5 * Everyday.bar + 5, series.name, "label bold \(style)"))
            for (column, figure) in zip(sizes.columns, series.figures) {
                let bytes = figure?.median ?? 0
                let length = (Everyday.right - Everyday.left) * bytes / most
                let middle = y + Everyday.bar / 2 + 4
                parts.append(text(Everyday.left - 8, middle, column, "faint small end"))
                parts.append(
                    "<rect class=\"bar \(style)\" x=\"\(Everyday.left)\" y=\"\(round(y + 1))\" "
                        + "width=\"\(round(length))\" height=\"\(Everyday.bar - 2)\"/>")
                parts.append(text(Everyday.left + length + 8, middle, "\(Int(bytes.rounded()))", "small"))
                y += Everyday.bar
            }
            y += Everyday.gap
        }
        return parts
    }

    // MARK: Costs, as lines on logarithmic axes

    private enum Plot {
        static let (left, right, top, bottom) = (84.0, 670.0, 64.0, 460.0)
        static let labels = 696.0
        static let labelHeight = 20.0
    }

    private var lines: [String] {
        guard let costs else { return [] }
        let shown = Self.shown.compactMap { system, style in
            costs.series.first { $0.name == system.name }.map { (series: $0, style: style) }
        }
        let values = shown.flatMap { $0.series.figures.compactMap { $0?.median } }
        guard let least = values.min(), let most = values.max() else { return [] }
        let decades = Int(log10(least).rounded(.down))...Int(log10(most).rounded(.up))
        func x(_ column: Int) -> Double {
            Plot.left + (Plot.right - Plot.left) * Double(column) / Double(max(1, costs.columns.count - 1))
        }
        func y(_ value: Double) -> Double {
            let share = (log10(value) - Double(decades.lowerBound)) / Double(decades.count - 1)
            return Plot.bottom - (Plot.bottom - Plot.top) * share
        }

        var parts = [text(24, 36, "Time of one notification, by number of observers", "heading")]
        for decade in decades {
            let y = y(pow(10, Double(decade)))
            parts.append(line(Plot.left, y, Plot.right, y, "grid"))
            parts.append(text(Plot.left - 10, y + 5, Self.duration(decade), "faint end"))
        }
        for (column, name) in costs.columns.enumerated() {
            parts.append(text(x(column), Plot.bottom + 24, name, "faint middle"))
        }
        var ends: [(y: Double, name: String, style: String)] = []
        for (series, style) in shown {
            let points = series.figures.enumerated().compactMap { column, figure in
                figure.map { (column: column, x: x(column), y: y($0.median)) }
            }
            guard let last = points.last else { continue }
            // The point for no observers stays apart, since zero has no place on a logarithmic axis.
            let path = points.filter { $0.column > 0 }.map { "\(round($0.x)),\(round($0.y))" }
            parts.append("<polyline class=\"\(style)\" points=\"\(path.joined(separator: " "))\"/>")
            parts += points.map { point in
                "<circle class=\"\(style)\" cx=\"\(round(point.x))\" cy=\"\(round(point.y))\" r=\"3.5\"/>"
            }
            ends.append((last.y, series.name, style))
        }
        return parts + labels(ends)
    }

    /// Names beside the ends of the lines, moved apart where they would cover each other.
    private func labels(_ ends: [(y: Double, name: String, style: String)]) -> [String] {
        let sorted = ends.sorted { $0.y < $1.y }
        var places = sorted.map(\.y)
        for index in places.indices.dropFirst() {
            places[index] = max(places[index], places[index - 1] + Plot.labelHeight)
        }
        // All labels go back by half of the largest shift, so that they are as far above their lines as below.
        let moved = zip(places, sorted).map { $0 - $1.y }.max() ?? 0
        return zip(sorted, places).flatMap { end, place in
            let y = place - moved / 2
            return [
                line(Plot.right + 6, end.y, Plot.labels - 4, y, "leader \(end.style)"),
                text(
                    Plot.labels, y + 5, end.name, "label \(end.style)\(end.style.hasPrefix("ours") ? " bold" : "")"),
            ]
        }
    }

    private static func duration(_ decade: Int) -> String {
        let units = ["ns", "µs", "ms", "s"]
        let unit = min(max(0, decade / 3), units.count - 1)
        return "\(NSDecimalNumber(decimal: pow(10, decade - 3 * unit))) \(units[unit])"
    }

    // MARK: Throughputs, as bars

    private enum Bars {
        static let (top, left, right) = (524.0, 350.0, 760.0)
        static let (height, gap) = (17.0, 14.0)
    }

    private var bars: [String] {
        guard let throughputs else { return [] }
        let shown = Self.shown.compactMap { system, style in
            throughputs.series.first { $0.name == system.name }.map { (series: $0, style: style) }
        }
        let ratios = shown.map { series, _ in
            series.figures.compactMap { figure in figure.map { $0.median / series.figures[0]!.median } }
        }
        let most = ratios.joined().max() ?? 1
        var parts = [
            text(24, Bars.top, "Notifications per second on several threads at once, 10 observers", "heading"),
            text(
                24, Bars.top + 22, "The length of a bar is relative to the same system's one thread.", "faint small"),
        ]
        var y = Bars.top + 40
        for ((series, style), ratios) in zip(shown, ratios) {
            parts.append(text(24, y + 1.5 * Bars.height + 5, series.name, "label bold \(style)"))
            for (index, ratio) in ratios.enumerated() {
                let length = (Bars.right - Bars.left) * ratio / most
                let middle = y + Bars.height / 2 + 4
                let figure = "\(Table.number(series.figures[index]!.median)) M/s"
                parts.append(text(Bars.left - 8, middle, throughputs.columns[index], "faint small end"))
                parts.append(
                    "<rect class=\"bar \(style)\" x=\"\(Bars.left)\" y=\"\(round(y + 1))\" width=\"\(round(length))\" "
                        + "height=\"\(Bars.height - 2)\"/>")
                let times = index == 0 ? "" : ", \(String(format: "%.2f", ratio)) ×"
                parts.append(text(Bars.left + length + 8, middle, figure + times, "small"))
                y += Bars.height
            }
            y += Bars.gap
        }
        return parts
    }

    // MARK: Elements

    private func text(_ x: Double, _ y: Double, _ text: String, _ style: String) -> String {
        let safe = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return "<text class=\"\(style)\" x=\"\(round(x))\" y=\"\(round(y))\">\(safe)</text>"
    }

    private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ style: String) -> String {
        "<line class=\"\(style)\" x1=\"\(round(x1))\" y1=\"\(round(y1))\" x2=\"\(round(x2))\" y2=\"\(round(y2))\"/>"
    }

    /// Rounds to a tenth of a pixel, since less is not visible.
    private func round(_ value: Double) -> Double {
        (value * 10).rounded() / 10
    }
}
