import Testing

@testable import Sockets

@Suite struct TimerHeapTests {
    @Test(arguments: [1, 2, 3, 10, 1000]) func entriesComeOutInOrder(count: Int) {
        var heap = TimerHeap()
        var state: UInt64 = 88_172_645_463_325_252
        var deadlines: [Int64] = []
        for slot in 0..<count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            let deadline = Int64(state % 500)
            deadlines.append(deadline)
            heap.insert(
                TimerHeap.Entry(
                    deadline: Deadline(nanoseconds: deadline),
                    token: ChannelToken(slot: UInt32(slot), generation: 0)))
        }
        #expect(heap.popDue(at: Deadline(nanoseconds: -1)) == nil)
        var popped: [Int64] = []
        while let entry = heap.popDue(at: .never) { popped.append(entry.deadline.nanoseconds) }
        #expect(popped == deadlines.sorted())
    }

    @Test func onlyDueEntriesComeOut() {
        var heap = TimerHeap()
        for deadline in [30, 10, 20] {
            heap.insert(
                TimerHeap.Entry(
                    deadline: Deadline(nanoseconds: Int64(deadline)), token: ChannelToken(slot: 0, generation: 0)))
        }
        #expect(heap.popDue(at: Deadline(nanoseconds: 20))?.deadline.nanoseconds == 10)
        #expect(heap.popDue(at: Deadline(nanoseconds: 20))?.deadline.nanoseconds == 20)
        #expect(heap.popDue(at: Deadline(nanoseconds: 20)) == nil)
        #expect(heap.nearest == Deadline(nanoseconds: 30))
    }
}
