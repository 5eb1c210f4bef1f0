internal import HTTP
internal import Sockets

/// Gives memory back to the system when a crowd has left. What a crowd needed is free then, but lies among what is in
/// use, in the arenas of the threads, and the allocator gives back only what is at their ends.
///
/// Not for every request: it walks all free memory, some milliseconds for a crowd of ten thousand, and whoever allocates
/// meanwhile waits.
struct MemoryReturn {
    /// About what a connection over TLS takes, in bytes.
    static let connection = 49_152
    /// Less than this, or than an eighth of the most there was, is needed again soon, in bytes. What stays does not
    /// count: a crowd that leaves is noticed beside any number of connections.
    static let crowd = 4 << 20
    /// How many looks in a row it must have been quiet: who goes away may come back at once.
    static let patience = 5
    /// So many looks after that, memory is given back once more: some is freed late, as that of broken connections.
    static let later = 25

    /// The most there was since memory was given back last.
    private var most = 0
    private var quiet = 0
    /// Looks until the second time; nil when none is due.
    private var left: Int?

    /// Whether it is time to give memory back.
    /// - Parameters:
    ///   - load: what is kept for peers, in bytes.
    ///   - peak: the most since the last look.
    mutating func check(load: Int, peak: Int) -> Bool {
        most = max(most, load, peak)
        let isSecond = left == 1
        left = left.flatMap { $0 > 1 ? $0 - 1 : nil }
        guard most - load >= max(Self.crowd, most / 8) else {
            quiet = 0
            return isSecond
        }
        quiet += 1
        guard quiet >= Self.patience else { return isSecond }
        quiet = 0
        most = load
        left = Self.later
        return true
    }

    mutating func check(at memory: MemoryBudget, connections: Int, loops: [EventLoop]) {
        let peak = memory.consumePeak()
        let own = connections * Self.connection
        guard check(load: memory.taken + own, peak: peak + own) else { return }
        // What the other loops let go of comes too late for this time, and in time for the second.
        for loop in loops { loop.execute { loop.buffers.removeAll() } }
        ProcessUsage.releaseMemory()
    }
}
