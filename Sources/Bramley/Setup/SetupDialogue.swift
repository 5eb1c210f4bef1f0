/// Why `bramley init` ends without a configuration. Nothing was written.
package enum SetupFailure: Error, CustomStringConvertible {
    /// The input ended before the last answer.
    case ended
    case problems([ConfigurationProblem])
    /// One line for the operator.
    case cannotWrite(String)

    package var description: String {
        switch self {
        case .ended: "\nThe input ended before the last answer. Nothing was written."
        case .problems(let problems): ConfigurationFailure(problems: problems).description
        case .cannotWrite(let line): line
        }
    }
}

/// Asks for what is missing, one key at a time, and asks again until the answer is good.
struct SetupDialogue {
    let surroundings: SetupQuestion.Surroundings
    /// The next line without its end; nil when there is none.
    let readLine: () -> String?
    /// Text for the person, which may end in the middle of a line.
    let write: (String) -> Void

    func complete(_ draft: inout ConfigurationDraft) throws(SetupFailure) {
        let open = SetupQuestion.all.filter { draft[$0.key] == nil }
        guard !open.isEmpty else { return }
        write(
            """
            Each answer is checked at once. Enter takes what stands in brackets. Ctrl-C ends this, and nothing is written.

            """)
        for question in open where question.isAsked(draft) { try ask(question, &draft) }
    }

    private func ask(_ question: SetupQuestion, _ draft: inout ConfigurationDraft) throws(SetupFailure) {
        let key = question.key
        write("\n" + Self.wrapped(key.meaning.replacing("`", with: "")) + "\n")
        if case .choice(let words) = key.type { write("One of \(words.joined(separator: ", ")).\n") }
        if key.type == .list { write("Separate several by commas; write none for none.\n") }
        while true {
            let offer = question.offer(draft, surroundings)
            write("\(key.name)\(offer.map { " [\($0.shown)]" } ?? ""): ")
            guard let line = readLine() else { throw .ended }
            let answer = line.trimmed
            if answer.isEmpty, let offer {
                draft[key] = offer.text
            } else {
                draft[key] = answer.isEmpty ? nil : question.text(ofAnswer: answer)
            }
            let problems = draft.problems(of: key)
            for problem in problems { write(problem.description + "\n") }
            if !problems.contains(where: { $0.severity == .error }) { return }
        }
    }

    /// Lines of at most 80 columns.
    static func wrapped(_ text: String) -> String {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= 80 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    /// Without blanks at either end.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
