internal import ArgumentParser
internal import Sockets

/// Asks before an action that cannot be undone.
package struct ConfirmationOptions: ParsableArguments {
    /// Milliseconds between two checks for a signal instead of an answer.
    private static let look: Int32 = 100

    @Flag(help: "Do not ask for confirmation.")
    package var yes = false

    package init() {}

    /// Returns when the operator agrees.
    /// - Parameters:
    ///   - question: what will happen, as a complete sentence.
    ///   - id: of the one affected thing; typing it counts as a yes.
    /// - Throws: when the operator does not agree, or standard input is not a terminal.
    package func confirm(_ question: String, id: String? = nil) throws(CommandFailure) {
        if yes { return }
        guard StandardStream.input.isTerminal else {
            throw .usage("\(question) Not a terminal: pass --yes to confirm. Nothing was done.")
        }
        let words = id == nil ? "yes" : "yes, or the id,"
        let prompt = "\(TerminalText.safe(question))\nType \(words) to go on: "
        StandardError().write(Array(prompt.utf8))
        while !StandardStream.input.hasSomething(within: Self.look) {
            guard Task.isCancelled else { continue }
            StandardError().write([UInt8(ascii: "\n")])
            throw CommandFailure("Interrupted. Nothing was done.")
        }
        let answer = StandardStream.input.readLine() ?? ""
        guard Self.agrees(answer, id: id) else { throw CommandFailure("Nothing was done.") }
    }

    /// Whether an answer is a yes: the word or the id, ignoring surrounding blanks.
    package static func agrees(_ answer: String, id: String?) -> Bool {
        let bytes = answer.utf8.drop { $0 == 0x20 || $0 == 0x0D }
        let end = bytes.lastIndex { $0 != 0x20 && $0 != 0x0D }.map { bytes.index(after: $0) } ?? bytes.startIndex
        let word = bytes[bytes.startIndex..<end]
        return word.elementsEqual("yes".utf8) || id.map { !$0.isEmpty && word.elementsEqual($0.utf8) } == true
    }
}
