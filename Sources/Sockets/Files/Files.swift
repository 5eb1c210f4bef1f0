internal import CLinux
internal import Glibc

/// The few file operations that need a descriptor of ours: durable exclusive creation, locks, standard error.
package enum Files {
    /// Creates `path`, which must not exist, with these bytes, and returns when they are synced to disk. A process
    /// killed in the middle leaves the complete file or none: it is written under a temporary name of this process,
    /// then linked.
    /// - Parameter model: a file whose owner, group and mode it gets instead of `mode`, if that file exists.
    /// - Throws: after a failure nothing is left behind; `EEXIST` when `path` exists.
    package static func create(
        _ path: String, mode: UInt32, like model: String? = nil, bytes: [UInt8]
    ) throws(SystemError) {
        try write(bytes, beside: path, mode: mode, like: model) { temporary throws(SystemError) in
            _ = try SystemCalls.retrying("link") { unsafe link(temporary, path) }
        }
    }

    /// Like `create`, but replaces whatever is at `path`: a reader finds the old file or the new one, complete.
    /// - Throws: after a failure the old file is unchanged.
    package static func replace(
        _ path: String, mode: UInt32, like model: String? = nil, bytes: [UInt8]
    ) throws(SystemError) {
        try write(bytes, beside: path, mode: mode, like: model) { temporary throws(SystemError) in
            _ = try SystemCalls.retrying("rename") { unsafe rename(temporary, path) }
        }
    }

    private static func write(
        _ bytes: [UInt8], beside path: String, mode: UInt32, like model: String?,
        land: (String) throws(SystemError) -> Void
    ) throws(SystemError) {
        let temporary = "\(path).\(getpid()).new"
        // Left by a killed process with the same ID.
        _ = unsafe unlink(temporary)
        let descriptor = try SystemCalls.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: mode_t(mode))
        defer { _ = unsafe unlink(temporary) }
        var status = stat()
        // Safe: stat(2) writes one `stat` and keeps no pointer.
        if let model, unsafe stat(model, &status) == 0 {
            _ = try SystemCalls.retrying("fchown") { fchown(descriptor.number, status.st_uid, status.st_gid) }
            _ = try SystemCalls.retrying("fchmod") { fchmod(descriptor.number, status.st_mode & 0o777) }
        }
        try writeAll(bytes, to: descriptor.number)
        _ = try SystemCalls.retrying("fsync") { fsync(descriptor.number) }
        try land(temporary)
        try synchronizeDirectory(of: path)
    }

    /// Renames the finished file at `temporary` to `path`, in the same file system, and returns when bytes and name are
    /// synced to disk. A process killed in the middle leaves at `path` what was there, or the complete new file.
    /// - Parameter replacing: whether it may replace another file.
    /// - Throws: `EEXIST` when `path` exists and may not be replaced. The file is then still at `temporary`.
    package static func publish(_ temporary: String, at path: String, replacing: Bool) throws(SystemError) {
        try synchronize(temporary, O_RDONLY)
        if replacing {
            _ = try SystemCalls.retrying("rename") { unsafe rename(temporary, path) }
        } else {
            _ = try SystemCalls.retrying("link") { unsafe link(temporary, path) }
            try remove(temporary)
        }
        try synchronizeDirectory(of: path)
    }

    /// Gives the file at `path` a second name in the same file system, which remains when another file replaces the
    /// first. Durable when this returns.
    /// - Throws: `EEXIST` when that name exists.
    package static func addLink(_ path: String, as name: String) throws(SystemError) {
        _ = try SystemCalls.retrying("link") { unsafe link(path, name) }
        try synchronizeDirectory(of: name)
    }

    /// Removes a file, if it exists.
    package static func remove(_ path: String) throws(SystemError) {
        do {
            _ = try SystemCalls.retrying("unlink") { unsafe unlink(path) }
        } catch {
            if error.code != ENOENT { throw error }
        }
    }

    package static func removeDirectory(_ path: String) throws(SystemError) {
        _ = try SystemCalls.retrying("rmdir") { unsafe rmdir(path) }
    }

    package static func isSymbolicLink(_ path: String) -> Bool {
        var status = stat()
        // Safe: lstat(2) writes one `stat` and keeps no pointer.
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Makes the creation or removal of a file as durable as its bytes.
    package static func synchronizeDirectory(of path: String) throws(SystemError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        try synchronize(slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".", O_RDONLY | O_DIRECTORY)
    }

    private static func synchronize(_ path: String, _ flags: Int32) throws(SystemError) {
        let descriptor = try SystemCalls.open(path, flags)
        _ = try SystemCalls.retrying("fsync") { fsync(descriptor.number) }
    }

    /// Writes lines to standard error, waiting for its reader: one write(2), so that lines of several threads, and of
    /// processes that share the pipe, stay whole (POSIX keeps writes up to PIPE_BUF together).
    /// - Returns: the number of bytes written: all of them, unless it failed.
    @discardableResult package static func writeToStandardError(_ lines: [UInt8]) -> Int {
        writeUntilFailure(lines, to: STDERR_FILENO)
    }

    static func writeAll(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        guard writeUntilFailure(bytes, to: descriptor) == bytes.count else {
            throw SystemError(call: "write", code: errno)
        }
    }

    /// - Returns: the number of bytes written; when that is not all of them, `errno` says why.
    private static func writeUntilFailure(_ bytes: [UInt8], to descriptor: Int32) -> Int {
        var written = 0
        while written < bytes.count {
            // Invariant: `bytes` outlives the call, and write(2) reads at most the given count.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
            if count >= 0 {
                written += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another process that shares a standard stream made it non-blocking.
                guard let stream = StandardStream(rawValue: descriptor) else { return written }
                stream.waitUntilWritable()
            default: return written
            }
        }
        return written
    }

    /// From now on this process creates files that only its own user can read.
    package static func keepNewFilesPrivate() { _ = umask(0o077) }
}

/// An advisory lock on a file, held until the value is destroyed or the process ends; after `leaveToSuccessor`, until
/// the other process ends as well.
package struct FileLock: ~Copyable, Sendable {
    /// Open for as long as this value exists.
    package let descriptor: Int32
    /// Another process held it before, and may still hold it.
    private let isInherited: Bool

    /// Creates the file if it is missing. Follows no symbolic link, which somebody may have put there for us.
    /// - Parameters:
    ///   - isShared: others may hold it too, if they also share it; nobody can then hold it exclusively.
    ///   - isPrivate: nobody but this user may own the file, or be able to open it.
    /// - Throws: `EWOULDBLOCK` when another process holds the lock, `ELOOP` for a link, `EPERM` if not private.
    package init(path: String, isShared: Bool = false, isPrivate: Bool = false) throws(SystemError) {
        let opened = try SystemCalls.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
        let number = opened.number
        let status = try SystemCalls.status(of: number)
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError(call: "open", code: EINVAL) }
        guard !isPrivate || status.st_uid == geteuid() && status.st_mode & 0o077 == 0 else {
            throw SystemError(call: "open", code: EPERM)
        }
        _ = try SystemCalls.retrying("flock") { flock(number, (isShared ? LOCK_SH : LOCK_EX) | LOCK_NB) }
        self.descriptor = opened.release()
        isInherited = false
    }

    /// The lock of an earlier process that left us its descriptor: both hold the same lock.
    /// - Returns: nil when the descriptor is not that of the file at `path`, or another process holds the lock.
    init?(inheriting descriptor: consuming Descriptor, of path: String) {
        var named = stat()
        // Safe: stat(2) writes one `stat` and keeps no pointer.
        guard let ours = try? SystemCalls.status(of: descriptor.number), unsafe stat(path, &named) == 0,
            ours.st_dev == named.st_dev, ours.st_ino == named.st_ino,
            flock(descriptor.number, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        self.descriptor = descriptor.release()
        isInherited = true
    }

    /// Another process has inherited the lock: it ends with that process, not with this value.
    package consuming func leaveToSuccessor() {
        _ = Glibc.close(descriptor)
        discard self
    }

    deinit {
        // Unlocked explicitly: closing would leave it with a child that was just forked and has yet to execute its
        // program. But an inherited lock also belongs to the other process, and LOCK_UN would end it for both: a
        // successor that fails must leave the server its lock.
        if !isInherited { _ = flock(descriptor, LOCK_UN) }
        _ = Glibc.close(descriptor)
    }

    /// Whether `path` still names the locked file: between opening and locking it another process may have renamed it.
    package func isStill(at path: String) throws(SystemError) -> Bool {
        let here = try SystemCalls.status(of: descriptor)
        var there = stat()
        // Safe: lstat(2) writes one `stat` and keeps no pointer.
        guard unsafe lstat(path, &there) == 0 else { return false }
        return here.st_dev == there.st_dev && here.st_ino == there.st_ino
    }

    package func hasOtherNames() throws(SystemError) -> Bool { try SystemCalls.status(of: descriptor).st_nlink > 1 }

    package func empty() throws(SystemError) {
        _ = try SystemCalls.retrying("ftruncate") { ftruncate(descriptor, 0) }
    }

    /// Writes a text with this process's ID into the file, for whoever finds the lock held. It stays after the lock.
    /// - Parameter text: receives the ID of this process.
    package func writeHolder(_ text: (_ process: Int32) -> String) throws(SystemError) {
        try empty()
        try Files.writeAll(Array(text(getpid()).utf8), to: descriptor)
    }
}
