import ObserverSet

/// The protocol of the delegates in these tests, which is not `Sendable`.
protocol Listening: AnyObject {
    func hear(_ value: Int)
}

/// A protocol that values may implement too.
protocol OpenListening {
    func hear(_ value: Int)
}

/// A protocol with a primary associated type.
protocol ListeningTo<Value>: AnyObject {
    associatedtype Value
    func hear(_ value: Value)
}

class ListeningBase {
    func hear(_ value: Int) {}
}

/// Records what it receives, and may run closures when it is called and when it is deallocated; its lifetime is
/// counted.
final class ListeningRecorder: ListeningBase, Listening, OpenListening, ListeningTo {
    var heard: [Int] = []
    var atCall: (Int) -> Void
    private let atEnd: (ListeningRecorder) -> Void
    private let tracked = Tracked()

    init(atCall: @escaping (Int) -> Void = { _ in }, atEnd: @escaping (ListeningRecorder) -> Void = { _ in }) {
        self.atCall = atCall
        self.atEnd = atEnd
    }

    override func hear(_ value: Int) {
        heard.append(value)
        atCall(value)
    }

    deinit { atEnd(self) }
}

/// A value that implements a protocol.
struct ListeningValue: OpenListening {
    func hear(_ value: Int) {}
}

/// A multicast that the closures of a test share.
typealias Listeners = MulticastDelegate<any Listening>

/// What a delegate throws.
struct Refusal: Error, Equatable {
    let number: Int
}
