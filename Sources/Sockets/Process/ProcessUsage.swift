internal import CLinux
internal import Coding
internal import Glibc

package struct ProcessUsage: Sendable {
    /// User and system time of all threads, in nanoseconds.
    package var processorTime: Int64
    /// Bytes.
    package var residentMemory: Int64?
    /// Open descriptors, and the maximum.
    package var openDescriptors: Int?
    package var maximumDescriptors: Int?

    /// The present usage. Nil for values the system does not report.
    package static var now: ProcessUsage {
        var usage = rusage()
        // Safe: getrusage(2) writes one `rusage` and keeps no pointer. It cannot fail for the process itself.
        _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return ProcessUsage(
            processorTime: nanoseconds(usage.ru_utime) &+ nanoseconds(usage.ru_stime),
            residentMemory: readResidentMemory(), openDescriptors: openDescriptorCount,
            maximumDescriptors: descriptorLimit)
    }

    package static var descriptorLimit: Int? {
        var limit = rlimit()
        // Safe: getrlimit(2) writes one `rlimit` and keeps no pointer.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the soft limit to `count` descriptors, or as near as the hard limit allows. Ignores a refusal.
    package static func raiseDescriptorLimit(to count: Int) {
        var limit = rlimit()
        let wanted = rlim_t(clamping: count)
        // Safe: getrlimit(2) writes one `rlimit`, setrlimit(2) reads one, and neither keeps a pointer.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted else {
            return
        }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    /// Returns unused memory to the system. Walks all free memory, and blocks allocations meanwhile.
    package static func releaseMemory() { bramley_trim_memory() }

    private static func nanoseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_usec) &* 1000
    }

    /// proc_pid_statm(5): pages; the second number is resident memory.
    private static func readResidentMemory() -> Int64? {
        var bytes: [UInt8] = []
        guard let file = try? InputFile(path: "/proc/self/statm"), let count = try? file.read(256, appendingTo: &bytes),
            count > 0
        else { return nil }
        let numbers = bytes.split(separator: UInt8(ascii: " "))
        guard numbers.count > 1, let pages = Int64(String(decoding: numbers[1], as: UTF8.self)) else { return nil }
        return pages &* Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// Since Linux 6.2 the size of the descriptor directory is the number of descriptors.
    package static var openDescriptorCount: Int? {
        var status = stat()
        // Safe: stat(2) writes one `stat` and keeps no pointer.
        if unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Int(status.st_size) }
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        // Without `.`, `..` and the descriptor that reads the directory.
        return max(0, count - 3)
    }
}

package enum SystemAccount {
    /// Who runs this process, for audit lines: the name of the real user, followed by who became that user through
    /// sudo. `ann`, `root (sudo: ann)`; `uid 10001` for a user without a name.
    /// - Parameter sudoUser: `SUDO_USER`. That user could set it to anything, so it is shown as sudo's claim.
    package static func current(sudoUser: String?) -> String {
        let id = getuid()
        let user = name(of: id) ?? "uid \(id)"
        guard let sudoUser, isName(sudoUser), sudoUser != user else { return user }
        return "\(user) (sudo: \(sudoUser))"
    }

    /// Whether it can be part of a line: 1 to 64 visible ASCII characters.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.isVisibleASCII
    }

    /// The name in the user database; nil for an id without a plain name.
    package static func name(of id: UInt32) -> String? {
        var buffer = [CChar](repeating: 0, count: 1_024)
        while true {
            var entry = unsafe passwd()
            var found: UnsafeMutablePointer<passwd>?
            // Invariant: getpwuid_r writes at most `count` bytes, and `found` points into `entry` and `buffer`.
            let code = unsafe getpwuid_r(id, &entry, &buffer, buffer.count, &found)
            if code == ERANGE, buffer.count < 1 << 20 {
                buffer = [CChar](repeating: 0, count: buffer.count * 4)
                continue
            }
            guard code == 0, unsafe found != nil, let bytes = unsafe entry.pw_name else { return nil }
            let name = unsafe String(cString: bytes)
            return isName(name) ? name : nil
        }
    }
}
