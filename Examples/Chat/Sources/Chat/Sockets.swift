// Sockets that suspend a task instead of blocking a thread. Nothing here knows about the chat, or about observers.

import Dispatch

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

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

    /// Listens on 127.0.0.1, at a free port if `port` is 0; nil if the port is taken.
    static func listening(at port: UInt16) -> (socket: Socket, port: UInt16)? {
        // Writing to a connection that is gone should be an error, and not the end of the program.
        signal(SIGPIPE, SIG_IGN)
        #if canImport(Glibc)
        let listener = Socket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        #else
        let listener = Socket(socket(AF_INET, SOCK_STREAM, 0))
        #endif
        // The connections inherit these options. The system's buffer is small, so that most of the lines that a slow
        // client hasn't taken are pending in this program, which counts what it drops.
        let options: [(level: Int32, name: Int32, value: Int32)] = [
            (SOL_SOCKET, SO_REUSEADDR, 1), (SOL_SOCKET, SO_SNDBUF, 16_384), (Int32(IPPROTO_TCP), TCP_NODELAY, 1),
        ]
        for option in options {
            _ = withUnsafePointer(to: option.value) {
                setsockopt(listener.descriptor, option.level, option.name, $0, 4)
            }
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
        return isListening ? (listener, UInt16(bigEndian: address.sin_port)) : nil
    }

    /// Waits for the next connection; nil if the task is cancelled.
    func connection() async -> Socket? {
        while !Task.isCancelled {
            let accepted = accept(descriptor, nil, nil)
            if accepted >= 0 { return Socket(accepted) }
            if errno == EAGAIN {
                await wait(for: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue))
            } else {
                try? await Task.sleep(for: .milliseconds(100))  // for example, too many files are open
            }
        }
        return nil
    }

    /// Waits for the next line; nil if the connection ends or the task is cancelled.
    ///
    /// `rest` is what has arrived behind the line. Nothing is read before it is asked for, so a client that sends too fast has to wait.
    func line(_ rest: inout [UInt8]) async -> String? {
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !rest.contains(UInt8(ascii: "\n")) {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count > 0, rest.count < chunk.count {
                rest += chunk[..<count]
            } else if count < 0, errno == EAGAIN, !Task.isCancelled {
                await wait(for: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: Self.queue))
            } else {
                return nil  // or the line is so long that it would fill the memory
            }
        }
        let line = rest.prefix { $0 != UInt8(ascii: "\n") }
        defer { rest.removeFirst(line.count + 1) }
        return String(decoding: line.filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
    }

    /// Sends all of the text; returns false if the connection ends or the task is cancelled before that.
    func write(_ text: String) async -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
            if count > 0 {
                rest.removeFirst(count)
            } else if errno == EAGAIN, !Task.isCancelled {
                await wait(for: DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: Self.queue))
            } else {
                return false
            }
        }
        return true
    }

    /// Waits until the source has an event, or the task is cancelled.
    ///
    /// Each of the two cancels the source. That happens only once, and it is what ends the wait.
    private func wait(for source: any DispatchSourceProtocol) async {
        let box = Box(source: source)
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                source.setEventHandler { box.source.cancel() }
                source.setCancelHandler { continuation.resume() }
                source.resume()
            }
        } onCancel: {
            box.source.cancel()
        }
    }

    /// Unchecked, because Dispatch doesn't declare on every system that a source may be cancelled on any thread.
    private struct Box: @unchecked Sendable {
        let source: any DispatchSourceProtocol
    }
}
