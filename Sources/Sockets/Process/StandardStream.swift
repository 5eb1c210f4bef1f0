internal import CLinux
internal import Glibc

/// One of a program's three standard streams, for people or scripts.
package enum StandardStream: Int32, Sendable {
    case input = 0
    case output = 1
    case error = 2

    /// Whether it is a terminal.
    package var isTerminal: Bool { isatty(rawValue) == 1 }

    /// The terminal's width in columns; nil when it is not a terminal, or does not report it.
    package var columns: Int? {
        var size = winsize()
        // Invariant: TIOCGWINSZ writes one `winsize`.
        guard unsafe ioctl(rawValue, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Writes everything, waiting for a slow reader.
    /// - Throws: `EPIPE` when the reader has gone; other errors such as a full disk.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            // Invariant: `bytes` outlives the call, and write(2) reads at most the given count.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe Glibc.write(rawValue, rest.baseAddress, rest.count)
            }
            if count >= 0 {
                written += count
                continue
            }
            switch errno {
            case EINTR: continue
            // Another process that shares the terminal made it non-blocking.
            case EAGAIN: waitUntilWritable()
            case let code: throw SystemError(call: "write", code: code)
            }
        }
    }

    /// Whether the reader of this pipe has gone, known before anything is written.
    package var hasLostItsReader: Bool { events(0, timeout: 0) & Int16(POLLERR) != 0 }

    /// Waits for input or the end.
    /// - Returns: whether there is any after at most this many milliseconds.
    package func hasSomething(within milliseconds: Int32) -> Bool { events(POLLIN, timeout: milliseconds) != 0 }

    /// One line of the input without its end, or what there is before the end of the input; nil when that is nothing.
    ///
    /// Swift's own `readLine` spins at the end of the input when some call in its thread was interrupted before.
    package func readLine() -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            // Invariant: read(2) writes at most the one byte that is passed.
            let count = unsafe Glibc.read(rawValue, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else {
                if count != 1, line.isEmpty { return nil }
                if line.last == UInt8(ascii: "\r") { line.removeLast() }
                return String(decoding: line, as: UTF8.self)
            }
            line.append(byte)
        }
    }

    func waitUntilWritable() {
        _ = events(POLLOUT, timeout: -1)
    }

    private func events(_ wanted: Int32, timeout: Int32) -> Int16 {
        var poll = pollfd(fd: rawValue, events: Int16(wanted), revents: 0)
        // Invariant: one descriptor is passed, as the count says.
        return unsafe Glibc.poll(&poll, 1, timeout) > 0 ? poll.revents : 0
    }

    /// From now on a reader that went away appears as an error of `write`, not as a signal.
    package static func reportLostReaders() {
        _ = signal(SIGPIPE, SIG_IGN)
    }
}

extension SystemError {
    /// Whether the reader of a pipe has gone.
    package var isLostReader: Bool { code == EPIPE }
}
