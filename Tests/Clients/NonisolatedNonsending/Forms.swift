import ObserverSet

// The forms in which an actor takes closures and functions. In all of them the compiler says of what is passed that it is on
// the actor, and is wrong in most: swiftlang/swift#83812, #86083, #87097.

nonisolated struct Failure: Error {}

func nonsending(_: isolated any Actor, _ body: nonisolated(nonsending) () async -> Void) async {
    await body()
}
func plain(_: isolated any Actor, _ body: () async -> Void) async { await body() }
func sendable(_: isolated any Actor, _ body: @Sendable () async -> Void) async { await body() }
func optional(_: isolated any Actor, _ body: (() async -> Void)?) async { await body?() }
func rethrowing(_: isolated any Actor, _ body: () async throws -> Void) async rethrows { try await body() }
func typed(_: isolated any Actor, _ body: () async throws(Failure) -> Void) async throws(Failure) {
    try await body()
}
func returning<R>(_: isolated any Actor, _ body: () async -> sending R) async -> sending R { await body() }

func two(_: isolated any Actor, _ first: () async -> Void, _ second: () async -> Void) async {
    await first()
    await second()
}

extension Ledger {
    func nonsending(_ body: nonisolated(nonsending) () async -> Void) async { await body() }
    func plain(_ body: () async -> Void) async { await body() }
    func sendable(_ body: @Sendable () async -> Void) async { await body() }
    func optional(_ body: (() async -> Void)?) async { await body?() }
    func rethrowing(_ body: () async throws -> Void) async rethrows { try await body() }
    func typed(_ body: () async throws(Failure) -> Void) async throws(Failure) { try await body() }
    func returning<R>(_ body: () async -> sending R) async -> sending R { await body() }

    func two(_ first: () async -> Void, _ second: () async -> Void) async {
        await first()
        await second()
    }
}

nonisolated struct Stored {
    let body: @Sendable () async -> Void
}

/// Closures that are formed in code that belongs to no actor.
@concurrent nonisolated func formedNowhere(_ host: any Actor, _ track: Track) async throws {
    await nonsending(host) { track.send() }
    await plain(host) { track.send() }
    await plain(host) { [track] in track.send() }
    await plain(host) {
        await Task.yield()
        track.send()
    }
    await sendable(host) { track.send() }
    await optional(host) { track.send() }
    await rethrowing(host) { track.send() }
    try await rethrowing(host) { () throws in track.send() }
    try await typed(host) { () throws(Failure) in track.send() }
    let count = await returning(host) {
        track.send()
        return 20
    }
    await two(host, { track.send() }, { track.send() })
    for _ in 0..<count { await nonsending(host) { track.send() } }

    // Functions as values.
    let value: () async -> Void = { track.send() }
    await nonsending(host, value)
    let other: () async -> Void = { track.send() }
    await plain(host, other)
    func local() async { track.send() }
    await nonsending(host, local)
    await plain(host, local)
    let stored = Stored { track.send() }
    await plain(host, stored.body)
    await sendable(host, stored.body)

    // Closures in closures.
    await plain(host) { await plain(host) { track.send() } }
    await plain(host) { await tasks(track) }
}

/// The same with the methods of an actor.
@concurrent nonisolated func passedToMethods(of host: Ledger) async throws {
    let track = host.track
    await host.nonsending { track.send() }
    await host.plain { track.send() }
    await host.sendable { track.send() }
    await host.optional { track.send() }
    await host.rethrowing { track.send() }
    try await host.typed { () throws(Failure) in track.send() }
    let count = await host.returning {
        track.send()
        return 20
    }
    for _ in 0..<count { await host.nonsending { track.send() } }
    await host.two({ track.send() }, { track.send() })
    await host.check("passed to methods")
}

/// Closures that are formed on an actor: the one that takes them, or another.
func formed(on actor: isolated any Actor, _ host: any Actor, _ track: Track) async throws {
    track.send(mustBeInPlace: actor === host)
    await nonsending(host) { track.send() }
    await plain(host) { track.send() }
    await plain(host) { [actor] in
        _ = actor
        track.send()
    }
    await sendable(host) { track.send() }
    await optional(host) { track.send() }
    try await rethrowing(host) { () throws in track.send() }
    try await typed(host) { () throws(Failure) in track.send() }
    await two(host, { track.send() }, { track.send() })
    let value: () async -> Void = { track.send() }
    await plain(host, value)
    @Sendable func local() async { track.send() }
    await plain(host, local)
    await tasks(track)
}

/// Tasks, and closures of the standard library.
func tasks(_ track: Track, isolation: isolated (any Actor)? = #isolation) async {
    await withTaskGroup(of: Void.self) { group in
        track.send()
        group.addTask { track.send() }
        await group.waitForAll()
    }
    async let sent: Void = track.send()
    await sent
    await Task { track.send() }.value
    await Task.detached { track.send() }.value
    await withTaskExecutorPreference(Pool()) { track.send() }
    if #available(macOS 26, *) {
        await Task.immediate { track.send() }.value
        await Task.immediate { [isolation] in
            _ = isolation
            track.send()
        }.value
    }
    let before = track.count
    let task = Task {
        await withTaskCancellationHandler {
            track.send()
            while !Task.isCancelled { await Task.yield() }
        } onCancel: {
            track.send()
        }
    }
    while track.count == before { await Task.yield() }
    task.cancel()
    await task.value
}
