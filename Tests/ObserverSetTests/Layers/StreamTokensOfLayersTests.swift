import Foundation
import ObserverSet
import Testing

@Suite("Tokens of streams behind merged sources, events and centers", .lifetimesChecked, .againstHanging)
struct StreamTokensOfLayersTests {
    @Test("Behind a merge there is one buffer, and one number of what it has dropped")
    func merged() async {
        let (first, second) = (ObserverSet<Int>(), ObserverSet<Int>())
        let (stream, token) = first.merge(with: second).makeStream(buffering: .newest(1))
        for value in 1...3 {
            first.notify(value)
            second.notify(-value)
        }
        expect(token.droppedCount, equals: 5)

        first.removeAll()
        #expect(token.isActive)
        #expect(token.remove())

        expect(await stream.reduce(into: []) { $0.append($1) }, equals: [-3])
        expect(token.droppedCount, equals: 5)
        #expect(first.isEmpty && second.isEmpty)
    }

    @Test("A publisher's stream is ended by its token, and by the publisher")
    func events() async {
        struct Said: Event { let number: Int }
        var publisher: EventPublisher? = EventPublisher()
        let streams = [
            publisher!.observers(of: Said.self).makeStream(buffering: .oldest(1)),
            publisher!.observers(of: Said.self).makeStream(),
        ]
        for number in 1...2 { publisher!.publish(Said(number: number)) }
        #expect(streams[0].token.remove())
        publisher = nil

        expect(await streams[0].stream.reduce(0) { $0 + $1.number }, equals: 1)
        expect(await streams[1].stream.reduce(0) { $0 + $1.number }, equals: 3)
        expect(streams.map(\.token.droppedCount), equals: [1, 0])
        #expect(!streams.contains { $0.token.isActive })
    }

    #if NotificationCenter
    @Test("A center's stream is ended by its token, and by the center")
    func center() async {
        let name = Notification.Name("said")
        var center: NotificationCenter? = NotificationCenter()
        let streams = [
            center!.observers(named: name).makeStream(buffering: .newest(1)),
            center!.observers(named: name).makeStream(),
        ]
        for _ in 1...2 { center!.post(name: name, object: nil) }
        #expect(streams[0].token.remove())
        center = nil

        expect(await streams[0].stream.reduce(0) { sum, _ in sum + 1 }, equals: 1)
        expect(await streams[1].stream.reduce(0) { sum, _ in sum + 1 }, equals: 2)
        expect(streams.map(\.token.droppedCount), equals: [1, 0])
    }
    #endif
}
