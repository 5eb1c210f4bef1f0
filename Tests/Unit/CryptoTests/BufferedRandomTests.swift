import Crypto
import Synchronization
import Testing

/// Counts on: every byte of it is the next one, and every call is counted.
private final class CountingSource: RandomSource {
    private let state = Mutex((next: UInt8(0), calls: 0))

    var calls: Int { state.withLock { $0.calls } }

    func bytes(_ count: Int) -> [UInt8] {
        state.withLock { state in
            state.calls += 1
            return (0..<count).map { _ in
                defer { state.next &+= 1 }
                return state.next
            }
        }
    }
}

@Suite struct BufferedRandomTests {
    @Test("reads its source in large blocks, returns no byte twice, and any count")
    func fetchesMany() {
        let source = CountingSource()
        let random = BufferedRandom(source)
        // 12 × 17 bytes are less than it fetches at once, and less than the source counts to.
        let parts = (0..<12).map { _ in random.bytes(17) }
        #expect(parts.allSatisfy { $0.count == 17 })
        #expect(Set(parts.joined()).count == 12 * 17)
        #expect(source.calls == 1)
        #expect(random.bytes(0).isEmpty)
        #expect(random.bytes(5_000).count == 5_000)
        #expect(random.bytes(1_000).count == 1_000)
        #expect(random.bytes(1_000).count == 1_000)
    }

    @Test("concurrent threads get different bytes")
    func isShared() async {
        let random = BufferedRandom(SystemRandom())
        let parts = await withTaskGroup(of: [[UInt8]].self) { group in
            for _ in 0..<4 { group.addTask { (0..<500).map { _ in random.bytes(17) } } }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(Set(parts).count == 2_000)
    }
}
