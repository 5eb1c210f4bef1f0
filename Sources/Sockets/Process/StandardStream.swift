internal import CLinux
internal import Glibc

/// One of a program's three standard streams, for people or scripts.
package enum StandardStream: Int32, Sendable {
    case input = 0
    case output = 1
    case error = 2

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
        try Files.writeAll(bytes, to: rawValue)
    }

    /// Whether the reader of this pipe has gone, known before anything is written.
    package var hasLostItsReader: Bool { events(0, timeout: 0) & Int16(POLLERR) != 0 }

    /// Waits for input or the end.
    /// - Returns: whether there is any after at most this many milliseconds.
    package func hasInput(within milliseconds: Int32) -> Bool { events(POLLIN, timeout: milliseconds) != 0 }

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

    func waitUntilWritable() { _ = events(POLLOUT, timeout: -1) }

    private func events(_ wanted: Int32, timeout: Int32) -> Int16 {
        var poll = pollfd(fd: rawValue, events: Int16(wanted), revents: 0)
        // Invariant: one descriptor is passed, as the count says.
        return unsafe Glibc.poll(&poll, 1, timeout) > 0 ? poll.revents : 0
    }

    /// From now on a reader that went away appears as an error of `write`, not as a signal.
    package static func reportLostReaders() { _ = signal(SIGPIPE, SIG_IGN) }
}

/// Standard error without waiting: writes only as much as it accepts at once.
package final class NonblockingStandardError: Sendable {
    /// A pipe accepts lines up to this size completely or not at all (POSIX, PIPE_BUF), so they stay whole.
    package static let wholeWrite = 4096

    private enum Kind {
        /// Bytes go to the page cache, so no reader is involved.
        case file
        /// A socket takes the flag with each call.
        case socket
        /// A pipe or a terminal, opened again: O_NONBLOCK belongs to the open file, which other processes share.
        case reopened
    }

    private let descriptor: Descriptor
    private let kind: Kind

    /// Nil when it cannot be written without waiting.
    package init?() {
        guard let status = try? SystemCalls.status(of: STDERR_FILENO) else { return nil }
        let number: Int32
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFSOCK:
            kind = status.st_mode & S_IFMT == S_IFREG ? .file : .socket
            number = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        case S_IFIFO, S_IFCHR:
            kind = .reopened
            // Invariant: open(2) reads the path and keeps no pointer.
            number = unsafe open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        default: return nil
        }
        guard number >= 0 else { return nil }
        descriptor = Descriptor(owning: number)
    }

    /// - Returns: the number of bytes accepted; also 0 when it failed.
    package func write(_ bytes: [UInt8]) -> Int {
        // Invariant: `bytes` outlives the call, which reads at most the given count.
        let count = unsafe bytes.withUnsafeBytes { buffer in
            switch kind {
            case .socket:
                unsafe send(
                    descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
            case .file, .reopened: unsafe Glibc.write(descriptor.number, buffer.baseAddress, buffer.count)
            }
        }
        return max(0, count)
    }
}
