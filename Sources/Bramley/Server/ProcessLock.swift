internal import Glibc

/// One `bramley serve` at a time on one data directory: an advisory lock that goes with the process, however it ends.
///
/// Two servers on one database would each hold caches of sessions and share a port in silence; a second one is almost
/// always a mistake of the operator's.
struct ProcessLock: ~Copyable {
    private let descriptor: Int32

    init(directory: String) throws(StartFailure) {
        let path = directory + "/serve.lock"
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StartFailure("\(path) cannot be written: \(unsafe String(cString: strerror(errno))).")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw StartFailure("Another bramley serve is running on the data directory \(directory).")
        }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}
