package import Sockets
internal import Synchronization

/// The log's queue to standard error. The logging thread writes its line if none waits and it is accepted at once;
/// otherwise the line waits here, and one thread writes it.
///
/// Logging never waits for the log's reader: a pipe nobody reads or a stopped terminal would stop the event loops. A
/// line that does not fit is lost; the number of lost lines is logged in their place, as in `StandardError`.
package final class LogQueue: LogSink {
    private let lines: WaitingLines
    private let writer: WakeableThread
    private let direct: (@Sendable ([UInt8]) -> Int)?

    /// - Parameter direct: writes what is accepted at once, and returns the number of bytes; nil: the thread writes.
    package init(
        _ output: StandardError, direct: (@Sendable ([UInt8]) -> Int)? = nil, maximumLines: Int = 16_384,
        maximumBytes: Int = 4 << 20
    ) throws(SystemError) {
        self.direct = direct
        let lines = WaitingLines(output, maximumLines: maximumLines, maximumBytes: maximumBytes)
        self.lines = lines
        writer = try WakeableThread { lines.writeAll() }
    }

    deinit {
        lines.close()
        writer.wake()
    }

    package func write(_ line: [UInt8]) {
        switch lines.add(line, mayWrite: direct != nil) {
        case .wait: return
        case .wakeWriter: writer.wake()
        case .write: if lines.finish(line, written: direct?(line) ?? 0) { writer.wake() }
        }
    }

    /// Waits until every line so far has been written, but no longer than this: there may be no reader.
    package func flush(within milliseconds: Int = 2_000) async {
        let limit = ContinuousClock.now + .milliseconds(milliseconds)
        while !lines.areWritten, ContinuousClock.now < limit {
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Lines lost since the start: they did not fit or could not be written.
    package var lostLines: Int { lines.lost }
}

/// State shared by the loops and the writer. The lock is never held across a system call.
private final class WaitingLines: Sendable {
    private struct State {
        var waiting: [StandardError.Line] = []
        var count = 0
        var bytes = 0
        /// Lines that did not fit since the last one that did.
        var lost = 0
        /// Set from the first line that does not fit until half are written, so that one gap is reported, not many.
        var isFull = false
        /// The writer is working, or has been woken: it checks again before it sleeps.
        var isAwake = false
        /// A logging thread is writing; it wakes the writer when more has arrived.
        var isDirect = false
        var isClosed = false
    }

    private let output: StandardError
    private let maximumLines: Int
    private let maximumBytes: Int
    private let state = Mutex(State())
    private let overflow = Atomic(0)

    init(_ output: StandardError, maximumLines: Int, maximumBytes: Int) {
        self.output = output
        self.maximumLines = maximumLines
        self.maximumBytes = maximumBytes
    }

    var lost: Int { overflow.load(ordering: .relaxed) + output.lostLines }

    var areWritten: Bool { state.withLock { !$0.isAwake } }

    func close() { state.withLock { $0.isClosed = true } }

    /// What the thread that adds a line must do.
    enum Step { case wait, wakeWriter, write }

    /// - Parameter mayWrite: whether the caller can write the line itself; then `finish` must follow `.write`.
    func add(_ line: [UInt8], mayWrite: Bool) -> Step {
        state.withLock { state in
            if mayWrite, !state.isAwake, state.count == 0, state.lost == 0, output.isWhole,
                line.count <= NonblockingStandardError.wholeWrite
            {
                (state.isAwake, state.isDirect) = (true, true)
                state.count = 1
                state.bytes = line.count
                return .write
            }
            if state.isFull, state.count <= maximumLines / 2, state.bytes <= maximumBytes / 2 { state.isFull = false }
            if state.isFull || state.count >= maximumLines || state.bytes + line.count > maximumBytes {
                state.isFull = true
                state.lost += 1
                overflow.wrappingAdd(1, ordering: .relaxed)
            } else {
                state.waiting.append(StandardError.Line(bytes: line, lostBefore: state.lost))
                state.lost = 0
                state.count += 1
                state.bytes += line.count
            }
            defer { state.isAwake = true }
            return state.isAwake ? .wait : .wakeWriter
        }
    }

    /// The caller has written this much of its line; the rest is the first that waits.
    /// - Returns: whether the writer must be woken.
    func finish(_ line: [UInt8], written: Int) -> Bool {
        state.withLock { state in
            state.isDirect = false
            state.bytes -= written
            if written < line.count {
                state.waiting.insert(StandardError.Line(bytes: Array(line[written...]), isRest: written > 0), at: 0)
            } else {
                state.count -= 1
            }
            state.isAwake = !state.waiting.isEmpty || state.lost > 0
            return state.isAwake
        }
    }

    /// - Returns: whether there may be more later.
    func writeAll() -> Bool {
        while true {
            let (lines, lost, isClosed) = state.withLock { state -> ([StandardError.Line], Int, Bool) in
                // Woken for lines that were written long ago.
                if state.isDirect { return ([], 0, state.isClosed) }
                defer { state.waiting = [] }
                // Report lines lost after the last one now: another line may not come for long.
                let lost = state.waiting.isEmpty ? state.lost : 0
                if lost > 0 { state.lost = 0 }
                if state.waiting.isEmpty, lost == 0 { state.isAwake = false }
                return (state.waiting, lost, state.isClosed)
            }
            if lost > 0 { output.write([], lostAfter: lost) }
            if lines.isEmpty, lost == 0 { return !isClosed }
            write(lines)
        }
    }

    /// In batches that a pipe accepts completely (POSIX, PIPE_BUF), next to those of another process.
    private func write(_ lines: [StandardError.Line]) {
        var start = 0
        while start < lines.count {
            var (end, bytes) = (start + 1, lines[start].bytes.count)
            while end < lines.count, lines[end].lostBefore == 0, bytes + lines[end].bytes.count <= 4096 {
                bytes += lines[end].bytes.count
                end += 1
            }
            output.write(lines[start..<end])
            state.withLock { state in
                state.count -= end - start
                state.bytes -= bytes
            }
            start = end
        }
    }
}
