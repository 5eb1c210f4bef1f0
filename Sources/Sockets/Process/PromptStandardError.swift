internal import CLinux
internal import Glibc

/// Standard error without waiting: writes only as much as it accepts at once.
package final class PromptStandardError: Sendable {
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
        var status = stat()
        // Invariant: fstat(2) writes one `stat` and keeps no pointer.
        guard unsafe fstat(STDERR_FILENO, &status) == 0 else { return nil }
        let number: Int32
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFSOCK:
            kind = status.st_mode & S_IFMT == S_IFREG ? .file : .socket
            number = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        case S_IFIFO, S_IFCHR:
            kind = .reopened
            // Invariant: open(2) reads the path and keeps no pointer.
            number = unsafe open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        default:
            return nil
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
            case .file, .reopened:
                unsafe Glibc.write(descriptor.number, buffer.baseAddress, buffer.count)
            }
        }
        return max(0, count)
    }
}
