// The chat server of the page "On the server". Clients and a journal observe a room, and await their work for each
// line.
//
//     swift run Awaiting

import ObserverSet

actor Room {
    nonisolated let said = ObserverSet<String>()
    private var clients: [String: ObserverToken] = [:]

    func enter(_ client: Client) {
        leave(client.name)
        clients[client.name] = said.addAsync(client) { client, line in await client.send(line) }
    }

    func leave(_ name: String) { clients.removeValue(forKey: name)?.remove() }

    func say(_ line: String) {
        said.notify(line)
        for (name, token) in clients where token.pendingCount > 100 {
            print("\(name) is too slow")
            leave(name)  // drops the pending lines, and cancels the call in progress
        }
    }

    func leaveAll() {
        for name in clients.keys { leave(name) }
    }
}

/// Sends one line after the other, as fast as its network is.
actor Client {
    nonisolated let name: String
    private let delay: Duration
    private(set) var received = 0

    init(_ name: String, delay: Duration) {
        self.name = name
        self.delay = delay
    }

    func send(_ line: String) async {
        do {
            try await Task.sleep(for: delay)
            received += 1
        } catch {}  // the client has left during this call
    }
}

/// Writes each line to a file.
actor Journal {
    private(set) var lines: [String] = []

    init(_ room: Room) {
        room.said.addAsync(self) { journal, line in await journal.write(line) }
    }

    private func write(_ line: String) async {
        try? await Task.sleep(for: .milliseconds(1))
        lines.append(line)
    }
}

/// Returns whether everything sent before was delivered within the limit.
func settle(_ source: some NotificationSource, within limit: Duration) async -> Bool {
    await withTaskGroup { group in
        group.addTask {
            await source.settled()  // returns at once when the group is cancelled
            return true
        }
        group.addTask {
            try? await Task.sleep(for: limit)
            return false
        }
        let isSettled = await group.next() ?? false
        group.cancelAll()
        return isSettled
    }
}

func finish(_ room: Room) async {
    if await !settle(room.said, within: .milliseconds(500)) {
        debugPrint(room.said)  // who is late: "in a call", "3 pending"
        await room.leaveAll()
    }
    // The journal has written, and the cancelled calls have returned, unless one ignores that.
    _ = await settle(room.said, within: .seconds(5))
}

let room = Room()
let journal = Journal(room)
let near = Client("near", delay: .milliseconds(1))
let lost = Client("lost", delay: .seconds(600))
let gone = Client("gone", delay: .seconds(600))
await room.enter(near)
await room.enter(lost)
for number in 1...110 {
    await room.say("line \(number)")
    try await Task.sleep(for: .milliseconds(3))
}

// This client doesn't answer, but it isn't so late that it would be dropped before the end.
await room.enter(gone)
await room.say("good night")

await Task { await finish(room) }.value
print("near received \(await near.received) lines, lost \(await lost.received), gone \(await gone.received)")
print("the journal has \(await journal.lines.count) lines, the last is \(await journal.lines.last ?? "")")
