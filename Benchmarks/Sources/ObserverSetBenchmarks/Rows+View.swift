import Foundation
import ObserverSet

/// The time of a notification in the usual program: one view, held weakly, observes on the main actor.
enum ViewRows {
    /// The figures of README's chart.
    static let section = Section(
        name: "chart: a view, a notification on the main actor, which it observes", unit: "ns",
        columns: { _ in ["1 view"] },
        measure: { plan in
            var samples = [[Double]](repeating: [], count: System.allCases.count)
            for _ in 0..<plan.rounds {
                let samplers = System.allCases.map { system in
                    // This is sound, because the tables are measured on the main thread.
                    MainActor.assumeIsolated { Unchecked(sampler(system, plan)) }.value
                }
                for (index, some) in interleaved(samplers, for: plan.roundTime).enumerated() { samples[index] += some }
            }
            return zip(System.allCases, samples).map { system, samples in
                Section.Series(name: system.rawValue, figures: [Quartiles(samples)])
            }
        })

    enum System: String, CaseIterable {
        case center = "NotificationCenter on Linux, a block with [weak view]"
        case queue = "a serial queue with weak owners"
        case ours = "ObserverSet, the view as the owner"
        case loop = "a hand-written loop over weak references"
    }

    @MainActor
    private static func sampler(_ system: System, _ plan: Plan) -> Sampler {
        let view = Owner()
        let sampler: Sampler
        switch system {
        case .center:
            let center = NotificationCenter()
            let name = Notification.Name("View")
            _ = center.addObserver(forName: name, object: nil, queue: nil) { [weak view] notification in
                view?.value &+= notification.userInfo?["value"] as? Int ?? 0
            }
            sampler = loop(plan) { repetitions in
                for value in 0..<repetitions { center.post(name: name, object: nil, userInfo: ["value": value]) }
            }
        case .queue:
            let set = QueueSet<Int>()
            set.add(view, Owner.receive)
            sampler = loop(plan) { repetitions in
                for value in 0..<repetitions { set.notify(value) }
            }
        case .ours:
            let set = ObserverSet<Int>()
            set.add(view) { view, value in view.value &-= value }
            sampler = NotifyRows.notifyingOnMain(set, plan)
        case .loop:
            let line = WeakLoop(capacity: 1)
            line.addNonisolated(view) { view, value in view.value ^= value }
            sampler = loop(plan) { repetitions in
                for value in 0..<repetitions { line.notify(value) }
            }
        }
        return { withExtendedLifetime(view) { sampler() } }
    }
}
