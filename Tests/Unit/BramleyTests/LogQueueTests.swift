import Synchronization
import Testing

@testable import Bramley

/// The log behind a reader that stalls.
@Suite struct LogQueueTests {
    /// Takes what is written only while it is open, as a pipe does.
    private final class Pipe: Sendable {
        private let state = Mutex((content: [UInt8](), isOpen: true, writes: 0))

        /// On the writer's thread, which may wait.
        func write(_ bytes: [UInt8]) -> Int {
            state.withLock { $0.writes += 1 }
            while true {
                let isDone = state.withLock { state in
                    if state.isOpen { state.content += bytes }
                    return state.isOpen
                }
                if isDone { return bytes.count }
            }
        }

        func set(isOpen: Bool) { state.withLock { $0.isOpen = isOpen } }
        var text: String { state.withLock { String(decoding: $0.content, as: UTF8.self) } }
        var lines: [String] { text.split(separator: "\n").map(String.init) }
        /// Whether the writer has begun to write, and waits.
        var hasBegun: Bool { state.withLock { $0.writes > 0 } }
    }

    private func queue(_ pipe: Pipe, maximumLines: Int = 1000, maximumBytes: Int = 100_000) throws -> LogQueue {
        try LogQueue(
            StandardError(notice: { Array("lost \($0)\n".utf8) }, output: pipe.write), maximumLines: maximumLines,
            maximumBytes: maximumBytes)
    }

    private func write(_ range: Range<Int>, to queue: LogQueue) {
        for number in range { queue.write(Array("\(number)\n".utf8)) }
    }

    @Test func linesArriveInTheirOrder() async throws {
        let pipe = Pipe()
        let queue = try queue(pipe)
        write(0..<1000, to: queue)
        await queue.flush(within: 60_000)
        #expect(pipe.lines == (0..<1000).map { "\($0)" })
        #expect(queue.lostLines == 0)
    }

    @Test func stalledReaderBlocksNobodyAndLostLinesAreCounted() async throws {
        let pipe = Pipe()
        pipe.set(isOpen: false)
        let queue = try queue(pipe, maximumLines: 10)
        // The writer waits with this one, which counts still.
        write(0..<1, to: queue)
        while !pipe.hasBegun { await Task.yield() }
        write(1..<30, to: queue)
        #expect(queue.lostLines == 20)
        await queue.flush(within: 1)
        #expect(pipe.text == "")
        pipe.set(isOpen: true)
        await queue.flush(within: 60_000)
        // Told at once: no other line may come for long.
        #expect(pipe.lines == (0..<10).map { "\($0)" } + ["lost 20"])
        write(30..<32, to: queue)
        await queue.flush(within: 60_000)
        #expect(pipe.lines.suffix(3) == ["lost 20", "30", "31"])
        #expect(queue.lostLines == 20)
    }

    /// One gap: not one line, one notice, one line, for as long as the queue is nearly full.
    @Test func afterALossLinesAreAcceptedOnceHalfOfTheQueueIsWritten() async throws {
        let pipe = Pipe()
        pipe.set(isOpen: false)
        let queue = try queue(pipe, maximumBytes: 40)
        queue.write([UInt8](repeating: 0x61, count: 30) + [0x0A])
        while !pipe.hasBegun { await Task.yield() }
        queue.write([UInt8](repeating: 0x62, count: 30) + [0x0A])
        // This one would fit.
        queue.write(Array("c\n".utf8))
        #expect(queue.lostLines == 2)
        pipe.set(isOpen: true)
        await queue.flush(within: 60_000)
        #expect(pipe.lines == [String(repeating: "a", count: 30), "lost 2"])
    }

    /// Lines are written together, but not more at once than a pipe writes atomically.
    @Test func batchIsNotLongerThanAnAtomicPipeWrite() async throws {
        let sizes = Mutex<[Int]>([])
        let gate = Mutex(true)
        let queue = try LogQueue(
            StandardError(notice: nil) { bytes in
                sizes.withLock { $0.append(bytes.count) }
                while gate.withLock({ $0 }) {}
                return bytes.count
            })
        let line = [UInt8](repeating: 0x61, count: 999) + [0x0A]
        queue.write(line)
        while sizes.withLock({ $0.isEmpty }) { await Task.yield() }
        for _ in 0..<9 { queue.write(line) }
        queue.write([UInt8](repeating: 0x62, count: 10_000) + [0x0A])
        gate.withLock { $0 = false }
        await queue.flush(within: 60_000)
        #expect(sizes.withLock { $0 } == [1000, 4000, 4000, 1000, 10_001])
    }

    /// A disk that is full counts as lost what it was given.
    @Test func unwritableLinesCountAsLost() async throws {
        let isFull = Mutex(true)
        let text = Mutex("")
        let queue = try LogQueue(
            StandardError(notice: { Array("lost \($0)\n".utf8) }) { bytes in
                if isFull.withLock({ $0 }) { return 0 }
                text.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
                return bytes.count
            })
        write(0..<5, to: queue)
        await queue.flush(within: 60_000)
        #expect(queue.lostLines == 5)
        isFull.withLock { $0 = false }
        write(5..<6, to: queue)
        await queue.flush(within: 60_000)
        #expect(text.withLock { $0 } == "lost 5\n5\n")
    }

    /// Whoever logs writes a line where it is taken at once. Of one that is taken in part, the rest comes before the
    /// next line, also one that was logged meanwhile; where there is no room for it, the next line begins on its own.
    @Test func restOfAPartialLineComesBeforeTheNextLine() async throws {
        let text = Mutex("")
        let room = Mutex((direct: 3, writer: Int.max))
        let meanwhile = Mutex<(@Sendable () -> Void)?>(nil)
        let take = { @Sendable (bytes: [UInt8], room: Int) -> Int in
            text.withLock { $0 += String(decoding: bytes.prefix(room), as: UTF8.self) }
            return min(bytes.count, room)
        }
        let queue = try LogQueue(
            StandardError(notice: { Array("lost \($0)\n".utf8) }) { take($0, room.withLock { $0.writer }) },
            direct: { bytes in
                meanwhile.withLock { $0.take() }?()
                return take(bytes, room.withLock { $0.direct })
            })
        meanwhile.withLock { $0 = { queue.write(Array("second\n".utf8)) } }
        queue.write(Array("first\n".utf8))
        await queue.flush(within: 60_000)
        #expect(text.withLock { $0 } == "first\nsecond\n")
        room.withLock { $0.writer = 0 }
        queue.write(Array("third\n".utf8))
        await queue.flush(within: 60_000)
        #expect(queue.lostLines == 1)
        room.withLock { $0 = (.max, .max) }
        for line in ["fourth\n", "fifth\n"] {
            queue.write(Array(line.utf8))
            await queue.flush(within: 60_000)
        }
        #expect(text.withLock { $0 } == "first\nsecond\nthi\nlost 1\nfourth\nfifth\n")
    }
}
