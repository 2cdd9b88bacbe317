import ObserverSet

struct Arrived: Event { let name: String }
struct Said: Event { let room: String }
struct Departed: Event { let name: String, lostLines: Int }

/// Knows who is connected, and in which room.
///
/// All lines are said on this actor, so everybody in a room receives them in the same order.
actor Hub {
    nonisolated let events = EventPublisher()
    /// One clock for all clients, which ticks every second.
    nonisolated let ticked = ObserverSet<Void>()
    /// For how long a connection may take next to nothing before it counts as dead.
    ///
    /// Not nothing at all, because the system reports room only when it has sent a good part of its buffer.
    nonisolated let patience: Duration
    /// For how long a client that leaves may take to receive what is pending.
    nonisolated let deadline: Duration

    private struct Member {
        let client: Client
        var name: String
        var room = ""
        var visit: ObserverToken?
    }

    private var members: [ObjectIdentifier: Member] = [:]
    /// Each room is an event that carries lines, with one observer for each client in the room.
    private var rooms: [String: ObserverSet<String>] = [:]
    private let counter: Counter

    init(patience: Duration, deadline: Duration) {
        self.patience = patience
        self.deadline = deadline
        counter = Counter(events)
    }

    /// Serves the connections until the task is cancelled, and then until each client has ended.
    ///
    /// Each client has a child task, which is cancelled with this one.
    func serve(_ listener: Socket) async {
        await withDiscardingTaskGroup { group in
            group.addTask { [ticked] in
                while (try? await Task.sleep(for: .seconds(1))) != nil { ticked.notify() }
            }
            for number in 1... {
                guard let socket = await listener.connection() else { break }
                group.addTask { await Client(socket, in: self).run(as: "guest\(number)") }
            }
        }
    }

    func enter(_ client: Client, as name: String) {
        members[ObjectIdentifier(client)] = Member(client: client, name: name)
        events.publish(Arrived(name: name))
        move(client, to: "lobby")
    }

    func move(_ client: Client, to name: String) {
        guard var member = members[ObjectIdentifier(client)], member.room != name else { return }
        endVisit(of: member, quietly: false)
        let room = rooms[name] ?? ObserverSet()
        rooms[name] = room
        member.room = name
        // It runs before `notify` returns, and only hands the line on. The client sends it when its connection can.
        member.visit = room.addNonisolated(client) { client, line in client.outgoing.notify(line) }
        members[ObjectIdentifier(client)] = member
        room.notify("* \(member.name) joined \(name)")
    }

    func rename(_ client: Client, to name: String) {
        guard let member = members[ObjectIdentifier(client)] else { return }
        guard !members.values.contains(where: { $0.name == name }) else {
            return client.outgoing.notify("* the name \(name) is taken")
        }
        members[ObjectIdentifier(client)]?.name = name
        rooms[member.room]?.notify("* \(member.name) is now \(name)")
    }

    func say(_ line: String, from client: Client) {
        guard let member = members[ObjectIdentifier(client)] else { return }
        rooms[member.room]?.notify("\(member.name): \(line)")
        events.publish(Said(room: member.room))
    }

    /// Returns the name of the client, which now receives nothing from its room.
    func leave(_ client: Client, quietly: Bool) -> String {
        guard let member = members.removeValue(forKey: ObjectIdentifier(client)) else { return "" }
        endVisit(of: member, quietly: quietly)
        return member.name
    }

    private func endVisit(of member: Member, quietly: Bool) {
        member.visit?.remove()
        guard let room = rooms[member.room] else { return }
        if room.isEmpty { rooms[member.room] = nil }
        if !quietly { room.notify("* \(member.name) left \(member.room)") }
    }

    /// A single value with many lines, so that the limit of the client that asks never drops a part of it.
    func statistics() async -> String {
        await events.settled()  // so that the counter knows of everything that was said before
        var lines = ["* \(members.count) clients, \(rooms.count) rooms, \(await counter.messages) messages"]
        for member in members.values.sorted(by: { $0.name < $1.name }) {
            let (pending, dropped) = await member.client.backlog
            lines.append("* \(member.name) in \(member.room): \(pending) pending, \(dropped) dropped")
        }
        return lines.joined(separator: "\n")
    }
}

/// Counts messages. It has only the event's type in common with the code that publishes it.
actor Counter {
    private(set) var messages = 0

    init(_ events: EventPublisher) {
        events.observers(of: Said.self).add(self) { counter, _ in counter.messages += 1 }
    }
}
