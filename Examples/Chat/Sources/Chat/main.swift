// The chat server of the page "On the server", as a program that you can talk to.
//
//     swift run --package-path Examples/Chat Chat [PORT [PATIENCE [DEADLINE]]]
//
// PATIENCE and DEADLINE are seconds: see `Hub`. Ctrl-C ends the program.

import Dispatch
import ObserverSet

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

func log(_ line: String) {
    print(line)
    fflush(nil)  // otherwise a file or a pipe would show it late
}

/// Lets a signal notify a set instead of ending the program.
///
/// Returns when this is so: a signal that arrives before that is lost.
func forward(_ number: Int32, to event: ObserverSet<Void>) async -> any DispatchSourceSignal {
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number)
    source.setEventHandler { event.notify() }
    await withCheckedContinuation { continuation in
        source.setRegistrationHandler { continuation.resume() }
        source.resume()
    }
    return source
}

let given = CommandLine.arguments.dropFirst().map { UInt16($0) ?? 0 }
let numbers = given + [0, 10, 3].dropFirst(given.count)
guard let (listener, port) = Socket.listening(at: numbers[0]) else {
    log("port \(numbers[0]) is taken")
    exit(1)
}
let hub = Hub(patience: .seconds(Int(numbers[1])), deadline: .seconds(Int(numbers[2])))

// Ctrl-C is an event, and so is the signal with which a system ends a service.
let interrupted = ObserverSet<Void>()
let interruptions = interrupted.values()
let signalSources = [await forward(SIGINT, to: interrupted), await forward(SIGTERM, to: interrupted)]

// The log is written on the main actor, so the chat goes on even if the terminal doesn't.
let arrivals = hub.events.observers(of: Arrived.self).map { event in "\(event.name) arrived" }
let departures = hub.events.observers(of: Departed.self).map { event in
    "\(event.name) departed" + (event.lostLines > 0 ? " without its last \(event.lostLines) lines" : "")
}
_ = arrivals.merge(with: departures).add { line in log(line) }

let server = Task { await hub.serve(listener) }
log("listening on 127.0.0.1:\(port)")

for await _ in interruptions { break }
log("shutting down")
server.cancel()
await server.value
await hub.events.settled()  // so that the log is complete
log("goodbye")
