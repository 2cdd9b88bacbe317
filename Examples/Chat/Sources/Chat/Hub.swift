import ObserverSet

/// Knows who is connected, and in which room.
///
/// Everything is said on this actor, one line after the other. Each client has a queue of its own, so all clients in a
/// room receive the lines in this one order.
actor Hub {
    /// Lines for whoever runs the server.
    nonisolated let logged = ObserverSet<String>()
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

    private var members: [Int: Member] = [:]
    /// Each room is an event that carries lines, with one observer for each client in the room.
    private var rooms: [String: ObserverSet<String>] = [:]
    private var messages = 0

    init(patience: Duration, deadline: Duration) {
        self.patience = patience
        self.deadline = deadline
    }

    /// Serves the connections until the task is cancelled, and then until each client has ended.
    ///
    /// Each client has a child task, which is cancelled with this one.
    func serve(_ listener: Socket) async {
        await withDiscardingTaskGroup { group in
            group.addTask { [ticked] in
                while (try? await Task.sleep(for: .seconds(1))) != nil { ticked.notify() }
            }
            var count = 0
            while let socket = await listener.connection() {
                count += 1
                let client = Client(count, socket, in: self)
                group.addTask { await client.run() }
            }
        }
    }

    func enter(_ client: Client) {
        let name = "guest\(client.number)"
        members[client.number] = Member(client: client, name: name)
        logged.notify("\(name) arrived")
        move(client, to: "lobby")
    }

    func move(_ client: Client, to name: String) {
        guard var member = members[client.number], member.room != name else { return }
        endVisit(of: member, quietly: false)
        let room = rooms[name] ?? ObserverSet()
        rooms[name] = room
        member.room = name
        // It runs before `notify` returns, and only hands the line on. The client sends it when its connection can.
        member.visit = room.addNonisolated(client) { client, line in client.outgoing.notify(line) }
        members[client.number] = member
        room.notify("* \(member.name) joined \(name)")
    }

    func rename(_ client: Client, to name: String) {
        guard let member = members[client.number] else { return }
        guard !members.values.contains(where: { $0.name == name }) else {
            return client.outgoing.notify("* the name \(name) is taken")
        }
        members[client.number]?.name = name
        rooms[member.room]?.notify("* \(member.name) is now \(name)")
    }

    func say(_ line: String, from client: Client) {
        guard let member = members[client.number] else { return }
        messages += 1
        rooms[member.room]?.notify("\(member.name): \(line)")
    }

    /// Returns the name of the client, which now receives nothing from its room.
    func leave(_ client: Client, quietly: Bool) -> String {
        guard let member = members.removeValue(forKey: client.number) else { return "" }
        endVisit(of: member, quietly: quietly)
        return member.name
    }

    private func endVisit(of member: Member, quietly: Bool) {
        member.visit?.remove()
        if !quietly { rooms[member.room]?.notify("* \(member.name) left \(member.room)") }
        if rooms[member.room]?.isEmpty == true { rooms[member.room] = nil }
    }

    /// A single value with many lines, so that the limit of the client that asks never drops a part of it.
    func statistics() async -> String {
        var lines = ["* \(members.count) clients, \(rooms.count) rooms, \(messages) messages"]
        for member in members.values.sorted(by: { $0.name < $1.name }) {
            let (pending, dropped) = await member.client.backlog
            lines.append("* \(member.name) in \(member.room): \(pending) pending, \(dropped) dropped")
        }
        return lines.joined(separator: "\n")
    }
}
