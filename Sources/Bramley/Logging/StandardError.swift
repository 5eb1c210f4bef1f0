internal import Sockets
internal import Synchronization

/// Writes whole lines to standard error, and waits for whoever reads them.
///
/// A line that cannot be written, since the disk of the log is full, is lost, and the server goes on. How many were is
/// the first line that can be written again.
package final class StandardError: LogSink {
    /// A line of the log, and how many were lost before it came here.
    struct Line {
        var bytes: [UInt8]
        var lostBefore = 0
        /// The beginning of the line stands already, and nothing behind it.
        var isRest = false
    }

    private struct State {
        /// Lines that did not get there since the last one that did.
        var lost = 0
        /// What stands last ends in the middle of a line.
        var isCut = false
    }

    private let state = Mutex(State())
    private let failed = Atomic(0)
    private let notice: (@Sendable (_ lost: Int) -> [UInt8])?
    private let output: @Sendable ([UInt8]) -> Int

    /// - Parameter notice: makes the line that tells how many were lost.
    package convenience init(notice: (@Sendable (_ lost: Int) -> [UInt8])? = nil) {
        self.init(notice: notice) { Files.writeToStandardError($0) }
    }

    /// - Parameter output: writes, and returns how many of the bytes it could.
    init(notice: (@Sendable (_ lost: Int) -> [UInt8])?, output: @escaping @Sendable ([UInt8]) -> Int) {
        self.notice = notice
        self.output = output
    }

    /// Whether all that was written ends with a line, and no line is missing.
    var isWhole: Bool { state.withLock { $0.lost == 0 && !$0.isCut } }

    /// Lines that could not be written, since the start.
    var lostLines: Int { failed.load(ordering: .relaxed) }

    package func write(_ line: [UInt8]) {
        write([Line(bytes: line)])
    }

    /// Writes several lines at once.
    /// - Parameter lostAfter: how many lines were lost behind them.
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
