// What the system offers, for tasks: signals, and sockets that suspend a task instead of blocking a thread.

import Foundation
import ObserverSet

func log(_ line: String) {
    print(line)
    fflush(nil)  // otherwise a file or a pipe would show it late
}

/// Lets SIGINT and SIGTERM notify a set, for as long as the sources are held, instead of ending the program.
///
/// Returns when Dispatch watches the signals, because one that arrives between `signal` and that moment is lost.
///
/// A closure in the top-level code would belong to the main actor, so there the sources would need `queue: .main`.
func forwardSignals(to event: ObserverSet<Void>) async -> [any DispatchSourceSignal] {
    var sources: [any DispatchSourceSignal] = []
    for number in [SIGINT, SIGTERM] {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler { event.notify() }
        await withCheckedContinuation { continuation in
            source.setRegistrationHandler { continuation.resume() }
            source.resume()
        }
        sources.append(source)
    }
    return sources
}

/// A TCP socket of this machine's loopback.
///
/// Its descriptor is closed when the last reference to the socket goes. Until then, the system can't give the same
/// number to another connection, so a task that is late never writes to somebody else.
final class Socket: Sendable {
    private let descriptor: Int32
    /// One queue for all sockets, because what runs there only resumes a task.
    private static let queue = DispatchQueue(label: "sockets")

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// Ends the connection: whoever reads or writes here returns, and the other side is told.
    func disconnect() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Listens on 127.0.0.1, at a free port if `port` is 0; ends the program if the port is taken.
    static func listening(at port: UInt16) -> (socket: Socket, port: UInt16) {
        // Writing to a connection that is gone should be an error, and not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        // The constant's type depends on the system, but it is always a C integer.
        let listener = Socket(socket(AF_INET, unsafeBitCast(SOCK_STREAM, to: Int32.self), 0))
        // The connections inherit these options. The system's buffer is small, so that a slow client is noticed soon:
        // most of the lines that it hasn't taken are pending in this program, which counts what it drops.
        for (level, name, value) in [
            (SOL_SOCKET, SO_REUSEADDR, 1), (SOL_SOCKET, SO_SNDBUF, 16_384), (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
        ] {
            withUnsafePointer(to: Int32(value)) { _ = setsockopt(listener.descriptor, level, name, $0, 4) }
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener.descriptor, address, size) == 0 && listen(listener.descriptor, SOMAXCONN) == 0
                    && getsockname(listener.descriptor, address, &size) == 0
            }
        }
        if !isListening {
            log("port \(port) is taken")
            exit(1)
        }
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    /// Waits for the next connection; nil if the task is cancelled.
    func connection() async -> Socket? {
        while !Task.isCancelled {
            if let accepted = await attempt({ Int(accept(descriptor, nil, nil)) }) {
                return Socket(Int32(accepted))
            }
            try? await Task.sleep(for: .milliseconds(100))  // for example, too many files are open
        }
        return nil
    }

    /// Waits for the next line; nil if the connection ends, the line is too long, or the task is cancelled.
    ///
    /// `rest` is what has arrived behind the line. Nothing is read before it is asked for, so a client that sends too
    /// fast has to wait.
    func line(_ rest: inout [UInt8]) async -> String? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !rest.contains(UInt8(ascii: "\n")) {
            guard rest.count < chunk.count,
                let count = await attempt({ recv(descriptor, &chunk, chunk.count, 0) }), count > 0
            else { return nil }
            rest += chunk[..<count]
        }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        defer { rest.removeFirst(line.count + 1) }
        return String(decoding: line.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// Sends all of the text; returns false if the connection ends or the task is cancelled before that.
    func write(_ text: String) async -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let sent = await attempt(toWrite: true) {
                rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
            }
            guard let sent else { return false }
            rest.removeFirst(sent)
        }
        return true
    }

    /// Makes a call that doesn't block until it has done something; nil if it fails or the task is cancelled.
    private func attempt(toWrite: Bool = false, _ call: () -> Int) async -> Int? {
        while !Task.isCancelled {
            let result = call()
            if result >= 0 { return result }
            guard errno == EAGAIN else { return nil }
            // Unsafe, because Dispatch doesn't declare on every system that a source may be cancelled on any thread.
            nonisolated(unsafe) let source: any DispatchSourceProtocol =
                toWrite
                ? DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: Self.queue)
                : DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue)
            // An event and the task's cancellation each cancel the source. That happens only once, and it ends the wait.
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    source.setEventHandler { source.cancel() }
                    source.setCancelHandler { continuation.resume() }
                    source.resume()
                }
            } onCancel: {
                source.cancel()
            }
        }
        return nil
    }
}
