internal import HTTP
internal import Sockets

/// Returns memory to the system when a crowd has left: the allocator only returns what is at its arenas' ends. Not for
/// every request: it walks all free memory, which takes milliseconds and blocks allocations meanwhile.
struct MemoryReturn {
    /// Approximately what a connection with TLS takes, in bytes.
    static let connection = 49_152
    /// Less than this, in bytes, or less than an eighth of the maximum, is not returned: it is needed again soon.
    static let crowd = 4 << 20
    /// For how many checks in a row it must have been quiet: clients may come back at once.
    static let patience = 5
    /// After this many more checks, memory is returned once more: some is freed late, as of broken connections.
    static let later = 25

    private var most = 0
    private var quiet = 0
    /// Checks until the second time; nil when none is due.
    private var left: Int?

    /// Whether to return memory, for these bytes kept for peers now, and at most since the last check.
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
        guard check(load: memory.used + own, peak: peak + own) else { return }
        // What the other loops free comes too late for this time, but in time for the second.
        for loop in loops { loop.execute { loop.buffers.removeAll() } }
        ProcessUsage.releaseMemory()
    }
}
