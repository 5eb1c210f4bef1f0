internal import CLinux
internal import Glibc

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
    package func isOfSameFile(as other: FileStamp) -> Bool {
        device == other.device && inode == other.inode
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
