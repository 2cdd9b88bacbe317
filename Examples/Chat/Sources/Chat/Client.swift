import ObserverSet

/// One connection.
///
/// Whatever the client is to receive goes through `outgoing`. This set has a single observer, which awaits. So lines
/// never overlap, and a slow connection delays nobody else.
actor Client {
    nonisolated let number: Int
    nonisolated let outgoing = ObserverSet<String>()
    private let hub: Hub
    private let socket: Socket
    private var sending: ObserverToken?
    private var reportedDrops = 0
    private var writingSince: ContinuousClock.Instant?

    init(_ number: Int, _ socket: Socket, in hub: Hub) {
        self.number = number
        self.socket = socket
        self.hub = hub
    }

    /// How many lines are pending, and how many found no room.
    var backlog: (pending: Int, dropped: Int) { (sending?.pendingCount ?? 0, sending?.droppedCount ?? 0) }

    /// Serves the connection until the client leaves, the connection ends, or the task is cancelled.
    func run() async {
        // Not in `init`, which can't store an observer's token after `self` was passed on, unless it is `async`.
        // If more than a hundred lines are pending, the oldest are dropped.
        sending = outgoing.addAsync(self, buffering: .newest(100)) { client, line in await client.send(line) }
        hub.ticked.add(self) { client in client.disconnectIfStuck() }
        await hub.enter(self)
        var rest: [UInt8] = []
        while let line = await socket.line(&rest), await obey(line) {}
        let isShutdown = Task.isCancelled
        let name = await hub.leave(self, quietly: isShutdown)
        outgoing.notify(isShutdown ? "* the server shuts down, goodbye" : "* goodbye")
        await settle(outgoing, within: hub.deadline)
        let lost = backlog.pending
        sending?.remove()  // drops the pending lines, and cancels the call in progress
        socket.disconnect()
        hub.logged.notify("\(name) departed" + (lost > 0 ? " without its last \(lost) lines" : ""))
    }

    /// Carries out a command, or says the line in the client's room; returns false if the client wants to leave.
    private func obey(_ line: String) async -> Bool {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch (words.first ?? "", words.dropFirst().first) {
        case ("/join", let room?): await hub.move(self, to: room)
        case ("/name", let name?): await hub.rename(self, to: name)
        case ("/stats", _): outgoing.notify(await hub.statistics())
        case ("/quit", _): return false
        case ("", _): break
        case (let word, _) where word.hasPrefix("/"): outgoing.notify("* try /join ROOM, /name NAME, /stats or /quit")
        default: await hub.say(line, from: self)
        }
        return true
    }

    /// Called for one line after the other: the next call begins when this one has returned.
    private func send(_ line: String) async {
        let drops = backlog.dropped
        let report = drops > reportedDrops ? "* \(drops - reportedDrops) lines dropped, because you are too slow\n" : ""
        reportedDrops = drops
        writingSince = .now
        if await !socket.write(report + line + "\n") { socket.disconnect() }
        writingSince = nil
    }

    /// Ends a connection that has taken nothing for too long, which lets `send` and `run` return.
    private func disconnectIfStuck() {
        if let writingSince, writingSince.duration(to: .now) > hub.patience { socket.disconnect() }
    }
}

/// Waits until everything sent before was delivered, but no longer than the limit.
///
/// Both tasks are independent of the caller's, so this also waits in a task that has been cancelled.
func settle(_ source: some NotificationSource, within limit: Duration) async {
    let settling = Task { await source.settled() }
    let timer = Task {
        try await Task.sleep(for: limit)
        settling.cancel()  // `settled()` returns at once
    }
    await settling.value
    timer.cancel()
}
