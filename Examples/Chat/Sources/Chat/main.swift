// The chat server of the page "On the server", as a program that you can talk to.
//
//     swift run --package-path Examples/Chat Chat [PORT [PATIENCE [DEADLINE]]]
//
// PATIENCE and DEADLINE are seconds: see `Hub`. Ctrl-C ends the program.

import ObserverSet

let given = CommandLine.arguments.dropFirst().map { UInt16($0) ?? 0 }
let numbers = given + [0, 10, 3].dropFirst(given.count)
let (listener, port) = Socket.listening(at: numbers[0])
let hub = Hub(patience: .seconds(Int(numbers[1])), deadline: .seconds(Int(numbers[2])))

// The log is written on the main actor, so the chat goes on even if the terminal doesn't.
_ = hub.logged.add { line in log(line) }

// From here on, Ctrl-C is an event, and so is the signal with which a system ends a service.
let interrupted = ObserverSet<Void>()
let interruptions = interrupted.values()
let signalSources = await forwardSignals(to: interrupted)

let server = Task { await hub.serve(listener) }
log("listening on 127.0.0.1:\(port)")

for await _ in interruptions { break }
log("shutting down")
server.cancel()
await server.value
await hub.logged.settled()  // so that the log is complete
log("goodbye")
