// The chat server of the article "On the server": connections and a journal, actors that observe and await what they do
// for each message.
//
//     swift run Awaiting

import ObserverSet

struct Message: Sendable {
    let number: Int
    let text: String
}

/// What the clients are connected to: it may be notified on any thread, and never waits for a connection.
final class Room: Sendable {
    let said = ObserverSet<Message>()
    let loadChanged = ObserverSet<Int>()
    let closed = ObserverSet<Void>()
}

/// A file: a write takes a while, and others may write meanwhile.
actor File {
    private(set) var contents = ""

    func write(_ text: String) async {
        try? await Task.sleep(for: .milliseconds(1))
        contents += text
    }
}

/// Writes each message as a line.
actor Journal {
    private let file: File
    private var lineCount = 0

    init(_ room: Room, _ file: File) {
        self.file = file
        room.said.addAsync(self) { journal, message in await journal.write(message) }
    }

    /// Three writes make a line: the next message waits until all three have been made.
    private func write(_ message: Message) async {
        await file.write("\(message.number): ")
        await file.write(message.text)
        await file.write("\n")
        lineCount += 1
    }

    var summary: String { "\(lineCount) lines" }
}

/// Sends to one client, one message after the other, as fast as its network is.
actor Connection {
    private let name: String
    private let delay: Duration
    private var log: [String] = []

    init(_ name: String, delay: Duration) {
        self.name = name
        self.delay = delay
    }

    /// One observer of both sources: with an observer for each, the end could be sent before the last message.
    func join(_ room: Room) -> ObserverToken {
        let lines = room.said.map(\.text).merge(with: room.closed.map { "bye" })
        return lines.addAsync(self) { connection, line in await connection.send(line) }
    }

    private func send(_ text: String) async {
        do {
            try await Task.sleep(for: delay)
            log.append(text)
        } catch {
            // The registration was removed during this call.
            log.append("(cancelled: \(text))")
        }
    }

    var summary: String { "\(name): \(log.joined(separator: " "))" }
}

/// Shows a figure on a page that is slow to draw; of the waiting values, only the latest is of interest.
actor Dashboard {
    private var drawn: [Int] = []

    func follow(_ room: Room) -> ObserverToken {
        room.loadChanged.addAsync(self, buffering: .newest(1)) { dashboard, load in await dashboard.draw(load) }
    }

    private func draw(_ load: Int) async {
        try? await Task.sleep(for: .milliseconds(20))
        drawn.append(load)
    }

    var summary: String { "drew \(drawn.count) figures, the last is \(drawn.last ?? 0)" }
}

/// Waits until everything has been sent and written, for five seconds at most.
func finish(_ room: Room) async {
    let end = Task {
        await room.said.settled()
        await room.closed.settled()
    }
    let limit = Task {
        try await Task.sleep(for: .seconds(5))
        debugPrint(room.said)  // who is late: "in a call", "3 waiting"
        end.cancel()
    }
    await end.value
    limit.cancel()
    room.closed.cancelCalls()  // if somebody was late: first what would be sent next
    room.said.cancelCalls()  // cancels calls, and drops what waits
    await room.said.settled()  // until the cancelled calls have returned
    room.said.removeAll()  // last: settled() doesn't wait for removed observers
}

let room = Room()
let file = File()
let journal = Journal(room, file)
let near = Connection("near", delay: .milliseconds(1))
let far = Connection("far", delay: .milliseconds(15))
let gone = Connection("gone", delay: .seconds(600))
_ = await near.join(room)
_ = await far.join(room)
let lost = await gone.join(room)

let dashboard = Dashboard()
let drawing = await dashboard.follow(room)

// Notifying does not wait for the connections.
for (index, text) in ["hello", "is", "anybody", "there"].enumerated() {
    room.said.notify(Message(number: index + 1, text: text))
}
room.closed.notify()
for load in 1...50 {
    room.loadChanged.notify(load)
    try await Task.sleep(for: .milliseconds(1))
}
print(room.said.debugDescription)

// The values for which the dashboard was too slow are counted.
await room.loadChanged.settled()
print("dashboard: \(await dashboard.summary); \(drawing.droppedCount) were dropped")

// One client does not answer. Removal drops what waits for it, and cancels the call that is under way.
lost.remove()

// A clean end: everything has been sent and written when this returns.
await room.said.settled()
await room.closed.settled()
await Task { await finish(room) }.value
print(await near.summary)
print(await far.summary)
print(await gone.summary)
print("journal: \(await journal.summary)")
print(await file.contents, terminator: "")
