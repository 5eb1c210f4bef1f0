internal import CLinux
internal import Glibc

/// What this process uses of the machine.
package struct ProcessUsage: Sendable {
    /// User and system time of all threads, in nanoseconds.
    package var processorTime: Int64
    /// In bytes.
    package var residentMemory: Int64?
    /// Descriptors open now, and the most there may be.
    package var openDescriptors: Int?
    package var maximumDescriptors: Int?

    /// As it is now. What the system does not tell is nil.
    package static var now: ProcessUsage {
        var usage = rusage()
        // Safe: getrusage(2) writes one `rusage` and keeps no pointer. It cannot fail for the process itself.
        _ = unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return ProcessUsage(
            processorTime: nanoseconds(usage.ru_utime) &+ nanoseconds(usage.ru_stime),
            residentMemory: readResidentMemory(), openDescriptors: openDescriptorCount,
            maximumDescriptors: descriptorLimit)
    }

    /// The most descriptors there may be, now.
    package static var descriptorLimit: Int? {
        var limit = rlimit()
        // Safe: getrlimit(2) writes one `rlimit` and keeps no pointer.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        return Int(clamping: limit.rlim_cur)
    }

    /// Raises the soft limit to `count` descriptors, or as near as the hard one allows. What the system refuses stays.
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

    /// Gives the memory that nobody uses back to the system. It walks all that is free, and holds up who allocates.
    package static func releaseMemory() { bramley_trim_memory() }

    private static func nanoseconds(_ time: timeval) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_usec) &* 1000
    }

    /// proc_pid_statm(5): pages, the second number those that are resident.
    private static func readResidentMemory() -> Int64? {
        var bytes: [UInt8] = []
        guard let file = try? InputFile(path: "/proc/self/statm"), let count = try? file.read(256, appendingTo: &bytes),
            count > 0
        else { return nil }
        let numbers = bytes.split(separator: UInt8(ascii: " "))
        guard numbers.count > 1, let pages = Int64(String(decoding: numbers[1], as: UTF8.self)) else { return nil }
        return pages &* Int64(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// The kernel gives the directory of descriptors their number as its size since Linux 6.2.
    package static var openDescriptorCount: Int? {
        var status = stat()
        // Safe: stat(2) writes one `stat` and keeps no pointer.
        if unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Int(status.st_size) }
        guard let directory = unsafe opendir("/proc/self/fd") else { return nil }
        defer { unsafe closedir(directory) }
        var count = 0
        while unsafe readdir(directory) != nil { count += 1 }
        // Without `.`, `..` and the one that reads.
        return max(0, count - 3)
    }
}
