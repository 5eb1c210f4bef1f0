import Glibc
import Synchronization

/// An open descriptor, closed with its owner. Never 0, 1 or 2, which a spawned program has for itself.
package final class Descriptor: Sendable {
    package let number: Int32

    /// - Parameter number: taken over.
    private init(taking number: Int32, _ what: String) throws(SpawnFailure) {
        guard number >= 0 else { throw SpawnFailure(what) }
        guard number <= 2 else {
            self.number = number
            return
        }
        let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
        let failure = errno
        _ = close(number)
        guard copy >= 0 else { throw SpawnFailure(what, failure) }
        self.number = copy
    }

    convenience init(opening path: String, _ flags: Int32) throws(SpawnFailure) {
        try self.init(taking: unsafe open(path, flags | O_CLOEXEC, 0o644), path)
    }

    convenience init(duplicating number: Int32) throws(SpawnFailure) {
        try self.init(taking: fcntl(number, F_DUPFD_CLOEXEC, 3), "descriptor \(number)")
    }

    /// A file that has no name any more.
    convenience init(scratch bytes: [UInt8] = []) throws(SpawnFailure) {
        var template = Array("/tmp/bramley-program-XXXXXX".utf8CString)
        let number = unsafe mkstemp(&template)
        if number >= 0 {
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            _ = unsafe unlink(template)
        }
        try self.init(taking: number, "a file in /tmp")
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(self.number, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw SpawnFailure("a file in /tmp") }
            rest = rest.dropFirst(max(count, 0))
        }
        _ = lseek(self.number, 0, SEEK_SET)
    }

    static func pipe() throws(SpawnFailure) -> (reading: Descriptor, writing: Descriptor) {
        var ends: [Int32] = [-1, -1]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw SpawnFailure("a pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (try Descriptor(taking: ends[0], "a pipe"), try Descriptor(taking: ends[1], "a pipe"))
    }

    deinit { _ = close(number) }

    /// All of a file, wherever its writer's position is.
    func contents() throws(SpawnFailure) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe pread(number, &buffer, buffer.count, off_t(all.count))
            if count == 0 { return all }
            guard count > 0 || errno == EINTR else { throw SpawnFailure("reading a file") }
            all += buffer[..<max(count, 0)]
        }
    }
}

/// Our end of a program's standard output or standard error. Blocks the thread that reads.
package final class PipeReader: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    /// Waits for the next bytes; none when nobody can write any more.
    package func next() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor.number, &buffer, buffer.count)
            if count >= 0 { return Array(buffer[..<count]) }
            guard errno == EINTR else { return [] }
        }
    }

    /// All that is still to come.
    package func rest() -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let more = next()
            if more.isEmpty { return all }
            all += more
        }
    }
}

/// Our end of a program's standard input. Blocks the thread that writes.
package final class PipeWriter: Sendable {
    private let descriptor: Mutex<Descriptor?>

    init(_ descriptor: Descriptor) { self.descriptor = Mutex(descriptor) }

    /// - Throws: when the program does not read any more, or after `close`.
    package func write(_ bytes: [UInt8]) throws(SpawnFailure) {
        let failure: Int32 = descriptor.withLock { descriptor in
            guard let descriptor else { return EPIPE }
            var rest = bytes[...]
            while !rest.isEmpty {
                let (count, failure) = Self.write(rest, to: descriptor.number)
                guard count > 0 || failure == EINTR else { return failure }
                rest = rest.dropFirst(max(count, 0))
            }
            return 0
        }
        guard failure == 0 else { throw SpawnFailure("writing to a program", failure) }
    }

    /// The program sees the end of its input.
    package func close() { descriptor.withLock { $0 = nil } }

    /// write(2) on a pipe that nobody reads raises SIGPIPE in this thread: blocked and discarded here.
    private static func write(_ bytes: ArraySlice<UInt8>, to number: Int32) -> (count: Int, failure: Int32) {
        var (pipe, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&pipe)
        unsafe sigaddset(&pipe, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
        let count = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(number, $0.baseAddress, $0.count) }
        let failure = errno
        if count < 0, failure == EPIPE {
            var now = timespec()
            _ = unsafe sigtimedwait(&pipe, nil, &now)
        }
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        return (count, failure)
    }
}
