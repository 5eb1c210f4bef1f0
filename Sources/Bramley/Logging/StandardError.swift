internal import Sockets
internal import Synchronization

/// Where the log goes: standard error, one write a line.
///
/// A line that cannot be written, since the disk of the log is full, is lost, and the server goes on. How many were is
/// the first line that can be written again.
package final class StandardError: LogSink {
    private struct State {
        /// Lines that did not get there since the last one that did.
        var lost = 0
        /// What stands last ends in the middle of a line.
        var isCut = false
    }

    private let state = Mutex(State())
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

    package func write(_ line: [UInt8]) {
        // Whole lines are written by many threads at once: only after a failure does one wait for another.
        guard state.withLock({ $0.lost == 0 && !$0.isCut }) else { return writeAfterLoss(line) }
        let count = output(line)
        guard count < line.count else { return }
        state.withLock { state in
            state.lost += 1
            state.isCut = state.isCut || count > 0
        }
    }

    private func writeAfterLoss(_ line: [UInt8]) {
        state.withLock { state in
            var bytes: [UInt8] = state.isCut ? [0x0A] : []
            if let notice, state.lost > 0 { bytes += notice(state.lost) }
            bytes += line
            let count = output(bytes)
            if count == bytes.count {
                state = State()
            } else {
                state.lost += 1
                state.isCut = state.isCut || count > 0
            }
        }
    }
}
