import ObserverSet

/// Notifying weakly held delegates of a protocol, on one thread.
enum DelegateRows {
    static var all: [Row] {
        [
            .comparing(
                "notify, N = 100, delegates", to: "array of weak boxes", reach: .time(atMost: 1.2)
            ) { plan in
                (multicast(100, plan), array(100, plan))
            }
        ]
    }

    // Each sampler keeps the delegates alive.

    private static func multicast(_ count: Int, _ plan: Plan) -> Sampler {
        let multicast = MulticastDelegate<any Listener>()
        let delegates = (0..<count).map { _ in CountingListener() }
        for delegate in delegates { multicast.add(delegate) }
        return keeping(delegates, loop(plan) { repetitions in notify(multicast, repetitions) })
    }

    private static func array(_ count: Int, _ plan: Plan) -> Sampler {
        let array = WeakBoxes()
        let delegates = (0..<count).map { _ in CountingListener() }
        for delegate in delegates { array.add(delegate) }
        return keeping(delegates, loop(plan) { repetitions in notify(array, repetitions) })
    }

    private static func keeping(_ delegates: [CountingListener], _ sampler: @escaping Sampler) -> Sampler {
        { withExtendedLifetime(delegates) { sampler() } }
    }

    @inline(never)
    private static func notify(_ multicast: MulticastDelegate<any Listener>, _ repetitions: Int) {
        for value in 0..<repetitions { multicast.notify { $0.hear(value) } }
    }

    @inline(never)
    private static func notify(_ array: WeakBoxes, _ repetitions: Int) {
        for value in 0..<repetitions { array.notify { $0.hear(value) } }
    }
}

/// The delegates' protocol.
private protocol Listener: AnyObject {
    func hear(_ value: Int)
}

private final class CountingListener: Listener {
    var sum = 0

    func hear(_ value: Int) {
        sum &+= value
    }
}

/// What a program would write without a library, for one thread: an array of weak references.
private final class WeakBoxes {
    private final class Box {
        weak var delegate: (any Listener)?

        init(_ delegate: any Listener) {
            self.delegate = delegate
        }
    }

    private var boxes: [Box] = []

    func add(_ delegate: any Listener) {
        boxes.append(Box(delegate))
    }

    @inline(never)
    func notify(_ body: (any Listener) -> Void) {
        for box in boxes {
            if let delegate = box.delegate { body(delegate) }
        }
    }
}
