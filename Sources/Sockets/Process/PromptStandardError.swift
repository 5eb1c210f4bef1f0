internal import CLinux
internal import Glibc

/// Standard error, for writing only as much as it takes at once: nothing here waits for whoever reads it.
package final class PromptStandardError: Sendable {
    /// What a pipe takes whole or not at all (POSIX, PIPE_BUF): lines up to this size stay whole.
    package static let wholeWrite = 4096

    private enum Kind {
        /// Bytes go to the page cache; nobody reads them from us.
        case file
        /// A socket takes the flag with each call.
        case socket
        /// A pipe or a terminal, opened once more: O_NONBLOCK belongs to the open file, which other processes share.
        case reopened
    }

    private let descriptor: Descriptor
    private let kind: Kind

    /// Nil when there is no way to write to it without waiting.
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

    /// - Returns: how many of the bytes it took; 0 also when it failed.
    package func write(_ bytes: [UInt8]) -> Int {
        // Invariant: `bytes` outlives the call, which reads at most the count it is given.
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
