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

    @Test(arguments: [0, 3]) func lostLinesAreCountedAndNoLineIsGluedToAHalfOne(room: Int) {
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
}
