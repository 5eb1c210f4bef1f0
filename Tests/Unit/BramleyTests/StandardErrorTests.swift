import Synchronization
import Testing

@testable import Bramley

/// A log whose disk is full now and then.
@Suite struct StandardErrorTests {
    private final class Disk: Sendable {
        let state = Mutex((content: [UInt8](), room: Int.max))

        func write(_ bytes: [UInt8]) -> Int {
            state.withLock { state in
                let count = min(state.room, bytes.count)
                state.content += bytes.prefix(count)
                if state.room < Int.max { state.room -= count }
                return count
            }
        }

        var text: String { state.withLock { String(decoding: $0.content, as: UTF8.self) } }
        func set(room: Int) { state.withLock { $0.room = room } }
    }

    @Test(arguments: [0, 3]) func lostLinesAreCountedAndPartialLinesStaySeparate(room: Int) {
        let disk = Disk()
        let sink = StandardError(notice: { Array("lost \($0)\n".utf8) }, output: disk.write)
        sink.write(Array("first\n".utf8))
        disk.set(room: room)
        for _ in 0..<4 { sink.write(Array("second\n".utf8)) }
        disk.set(room: .max)
        sink.write(Array("third\n".utf8))
        sink.write(Array("fourth\n".utf8))
        let half = room > 0 ? "sec\n" : ""
        #expect(disk.text == "first\n\(half)lost 4\nthird\nfourth\n")
    }

    /// Of several lines in one write the first may get there, the second in part, the third not at all.
    @Test func truncatedBatchLosesItsRest() {
        let disk = Disk()
        let sink = StandardError(notice: { Array("lost \($0)\n".utf8) }, output: disk.write)
        disk.set(room: 8)
        sink.write([
            .init(bytes: Array("first\n".utf8)), .init(bytes: Array("second\n".utf8)),
            .init(bytes: Array("third\n".utf8)),
        ])
        #expect(sink.lostLines == 2)
        disk.set(room: .max)
        sink.write([.init(bytes: Array("fourth\n".utf8), lostBefore: 3)], lostAfter: 0)
        #expect(disk.text == "first\nse\nlost 5\nfourth\n")
        sink.write([], lostAfter: 7)
        #expect(disk.text.hasSuffix("fourth\nlost 7\n"))
    }

    /// The end of the disk in the middle of the notice: it is written again.
    @Test func truncatedNoticeIsRepeated() {
        let disk = Disk()
        let sink = StandardError(notice: { Array("lost \($0)\n".utf8) }, output: disk.write)
        disk.set(room: 0)
        sink.write(Array("first\n".utf8))
        disk.set(room: 3)
        sink.write(Array("second\n".utf8))
        disk.set(room: .max)
        sink.write(Array("third\n".utf8))
        #expect(disk.text == "los\nlost 2\nthird\n")
    }
}
