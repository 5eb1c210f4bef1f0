/// The pending deadlines of one loop: a binary min-heap with at most one current entry per channel.
///
/// Entries are never removed early. A channel moves its deadline by changing its own field; an entry that fires too
/// early is put back at the later time (`EventLoop.fireTimers`), and one whose channel is gone is dropped. So a
/// keep-alive connection that renews its deadline with every request touches the heap about once per deadline, not once
/// per request.
struct TimerHeap {
    struct Entry {
        var deadline: Deadline
        var token: ChannelToken
    }

    private var entries: [Entry] = []

    var nearest: Deadline? { entries.first?.deadline }
    var count: Int { entries.count }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            if entries[parent].deadline <= entry.deadline { break }
            entries[child] = entries[parent]
            child = parent
        }
        entries[child] = entry
    }

    /// Removes and returns the nearest entry if it is due.
    mutating func popDue(at now: Deadline) -> Entry? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        let last = entries.removeLast()
        if entries.isEmpty { return first }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            if child >= entries.count { break }
            if child + 1 < entries.count, entries[child + 1].deadline < entries[child].deadline { child += 1 }
            if last.deadline <= entries[child].deadline { break }
            entries[parent] = entries[child]
            parent = child
        }
        entries[parent] = last
        return first
    }
}
