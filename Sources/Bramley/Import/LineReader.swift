internal import Coding
package import Sockets

/// Reads the lines of a stream of any size, keeping one piece of it in memory.
package final class LineReader {
    package enum Line: Hashable, Sendable {
        case text([UInt8])
        case tooLong

        var isBlank: Bool {
            guard case .text(let bytes) = self else { return false }
            return bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        }
    }

    package static let longestLine = 65_536
    private static let piece = 65_536

    private let file: InputFile
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    package private(set) var number = 0
    package private(set) var bytesRead = 0

    package init(_ file: InputFile) { self.file = file }

    /// The next line without its LF; nil at the end, or when the task is cancelled while waiting for input.
    package func next() throws(CommandFailure) -> Line? {
        var isTooLong = false
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return line(start..<end, isTooLong)
            }
            if buffer.count - start > Self.longestLine {
                isTooLong = true
                start = buffer.count
            }
            searched = buffer.count
            if isAtEnd {
                guard start < buffer.count || isTooLong else { return nil }
                defer { start = buffer.count }
                return line(start..<buffer.count, isTooLong)
            }
            // Drops returned lines.
            buffer.removeFirst(start)
            searched -= start
            start = 0
            guard try fill() else { return nil }
        }
    }

    private func line(_ range: Range<Int>, _ isTooLong: Bool) -> Line {
        number += 1
        return isTooLong || range.count > Self.longestLine ? .tooLong : .text(Array(buffer[range]))
    }

    private func fill() throws(CommandFailure) -> Bool {
        while !file.isReadable(within: 200) {
            if Task.isCancelled { return false }
        }
        let count = try translating(try file.read(Self.piece, appendingTo: &buffer)) { (error: SystemError) in
            CommandFailure("The input cannot be read: \(error).")
        }
        // A byte order mark, as some editors write one.
        if bytesRead == 0, buffer.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        bytesRead += count
        isAtEnd = count == 0
        return true
    }
}

extension InputFile {
    /// A file that a command names, or - for standard input. Warns where others have permissions they should not have.
    static func open(_ path: String, without bits: UInt32, _ advice: String) throws(CommandFailure) -> InputFile {
        do {
            let file = path == "-" ? try InputFile.standardInput() : try InputFile(path: path)
            if let mode = file.mode, mode & bits != 0 { CommandOutput.remark("warning: \(path) can be \(advice)") }
            return file
        } catch {
            throw CommandFailure("\(path) cannot be read: \(error).")
        }
    }
}
