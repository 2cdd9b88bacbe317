// A client whose async functions without isolation run where their caller does, as new projects have it. There the compiler is
// wrong about most closures that async parameters take: it says that they are on the actor that takes them.
//
// It is compiled in language modes 5 and 6, with the main actor as the default and without. No observer may be called off its
// actor; one is called in place where the caller is on its actor; and nothing is lost, or changes its place.

import Dispatch
import ObserverSet

func tryForms(_ host: some Host, _ name: String) async throws {
    try await formedNowhere(host, host.track)
    await host.check("\(name): formed nowhere")
    try await formed(on: host, host, host.track)
    await host.check("\(name): formed on it")
    try await formed(on: Ledger(), host, host.track)
    await host.check("\(name): formed on another actor")
    try await formed(on: MainActor.shared, host, host.track)
    await host.check("\(name): formed on the main actor")
}

let ledger = Ledger().observing()
try await tryForms(ledger, "an actor")
try await passedToMethods(of: ledger)
try await tryForms(Clerk().observing(), "an actor on the main executor")
for proof in EventLoop.Proof.allCases {
    let loop = EventLoop(proof)
    let stations = [Station(loop).observing(), Station(loop).observing()]
    for station in stations { try await tryForms(station, "an actor on an event loop, \(proof)") }
    // Each takes what the other forms.
    try await formed(on: stations[0], stations[1], stations[1].track)
    await stations[1].check("formed on another actor on the same event loop")
    // What an older interface calls on the executor, outside tasks.
    let callback = await stations[0].callback()
    await loop.perform { callback.call() }
    DispatchQueue.global().sync { callback.call() }
    await stations[0].check("a callback on the executor, outside tasks")
}

let screen = Screen()
try await formedNowhere(MainActor.shared, screen.track)
await screen.check("the main actor: formed nowhere")
try await formed(on: MainActor.shared, MainActor.shared, screen.track)
try await formed(on: ledger, MainActor.shared, screen.track)
await screen.check("the main actor: formed on another actor")
let callback = Callback { screen.track.send() }
callback.call()
await Task.detached { callback.call() }.value
await withCheckedContinuation { continuation in
    DispatchQueue.main.async {
        screen.track.send(mustBeInPlace: true, isolation: MainActor.shared)
        continuation.resume()
    }
}
await screen.check("a callback of the main actor")
