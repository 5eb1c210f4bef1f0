internal import CLinux
internal import Glibc

/// A file, a pipe or standard input, read from beginning to end.
package final class InputFile {
    private let descriptor: Descriptor
    /// The size of a regular file in bytes; nil for anything without a size.
    package let size: Int?
    /// The permission bits of a regular file; nil for anything else.
    package let mode: UInt32?

    package convenience init(path: String) throws(SystemError) {
        try self.init(SystemCalls.open(path, O_RDONLY))
    }

    package static func standardInput() throws(SystemError) -> InputFile {
        try InputFile(Descriptor(owning: try SystemCalls.retrying("dup") { dup(STDIN_FILENO) }))
    }

    private init(_ descriptor: consuming Descriptor) throws(SystemError) {
        let status = try SystemCalls.status(of: descriptor.number)
        self.descriptor = descriptor
        guard status.st_mode & S_IFMT != S_IFDIR else { throw SystemError(call: "read", code: EISDIR) }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        size = isRegular ? Int(status.st_size) : nil
        mode = isRegular ? status.st_mode & 0o7777 : nil
    }

    /// Whether there is input, or the end, within this many milliseconds. Returns at once for a regular file.
    package func isReadable(within milliseconds: Int32) -> Bool {
        var poll = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        // Invariant: one descriptor is passed, as the count says.
        return unsafe Glibc.poll(&poll, 1, milliseconds) > 0
    }

    /// Reads at most `count` bytes, appending them to `bytes`.
    /// - Returns: how many there were; 0 at the end.
    package func read(_ count: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        let end = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        while true {
            let number = descriptor.number
            // Invariant: the buffer has `count` bytes after `end`, and read(2) writes no more than that.
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[end...])
                return unsafe Glibc.read(number, tail.baseAddress, tail.count)
            }
            if got >= 0 {
                bytes.removeLast(count - got)
                return got
            }
            let code = errno
            if code == EINTR { continue }
            bytes.removeLast(count)
            throw SystemError(call: "read", code: code)
        }
    }
}

/// Tells whether a file was written or replaced: never equal for two consecutive contents, except for writes within one
/// tick of the file system's clock.
package struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    /// Bytes.
    package let size: Int64
    /// Nanoseconds since 1970: of the content, and of the content or its metadata (a changed mode counts).
    private let modified: Int64
    private let changed: Int64

    /// Of the file at `path`, following symbolic links; nil when it does not exist or cannot be examined.
    package init?(of path: String) {
        var status = stat()
        // Safe: stat(2) writes one `stat` and keeps no pointer.
        guard unsafe stat(path, &status) == 0 else { return nil }
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(truncatingIfNeeded: status.st_ino)
        size = Int64(status.st_size)
        modified = Self.nanoseconds(status.st_mtim)
        changed = Self.nanoseconds(status.st_ctim)
    }

    /// Whether both are of the same file, whatever was written to it in between.
    package func isOfSameFile(as other: FileStamp) -> Bool { device == other.device && inode == other.inode }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
