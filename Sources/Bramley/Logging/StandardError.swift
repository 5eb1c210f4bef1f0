internal import Sockets
internal import Synchronization

/// Writes whole lines to standard error, waiting for its reader. A line that cannot be written, as on a full disk, is
/// lost; the next one says how many were.
package final class StandardError: LogSink {
    struct Line {
        var bytes: [UInt8]
        var lostBefore = 0
        /// The line's beginning has been written, and nothing after it.
        var isRest = false
    }

    private struct State {
        /// Lines not written since the last one that was.
        var lost = 0
        var isCut = false
    }

    private let state = Mutex(State())
    private let failed = Atomic(0)
    private let notice: (@Sendable (_ lost: Int) -> [UInt8])?
    private let output: @Sendable ([UInt8]) -> Int

    package convenience init(notice: (@Sendable (_ lost: Int) -> [UInt8])? = nil) {
        self.init(notice: notice) { Files.writeToStandardError($0) }
    }

    init(notice: (@Sendable (_ lost: Int) -> [UInt8])?, output: @escaping @Sendable ([UInt8]) -> Int) {
        self.notice = notice
        self.output = output
    }

    /// Whether the output ends with a complete line, and no line is missing.
    var isWhole: Bool { state.withLock { $0.lost == 0 && !$0.isCut } }

    var lostLines: Int { failed.load(ordering: .relaxed) }

    package func write(_ line: [UInt8]) { write([Line(bytes: line)]) }

    func write(_ lines: ArraySlice<Line>, lostAfter: Int = 0) {
        state.withLock { state in
            let lost = state.lost + lostAfter + lines.reduce(0) { $0 + $1.lostBefore }
            var bytes: [UInt8] = state.isCut ? [0x0A] : []
            var ends = [0, bytes.count]
            if let notice, lost > 0 { bytes += notice(lost) }
            let noticeEnd = bytes.count
            ends.append(noticeEnd)
            for line in lines {
                bytes += line.bytes
                ends.append(bytes.count)
            }
            let count = output(bytes)
            let unwritten = ends.dropFirst(3).count { $0 > count }
            if count > 0 {
                state.isCut = !ends.contains(count)
            } else if lines.first?.isRest == true {
                state.isCut = true
            }
            state.lost = unwritten + (count < noticeEnd ? lost : 0)
            if unwritten > 0 { failed.wrappingAdd(unwritten, ordering: .relaxed) }
        }
    }
}
