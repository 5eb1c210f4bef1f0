internal import Coding

/// Asks for missing values, one key at a time, and again until the answer is valid.
struct SetupDialogue {
    let surroundings: SetupQuestion.Surroundings
    /// The next line without its end; nil when there is none.
    let readLine: () -> String?
    /// Text for the person, which may end in the middle of a line.
    let write: (String) -> Void

    /// The terminal's width in columns.
    let width: Int

    func complete(_ draft: inout ConfigurationDraft) throws(CommandFailure) {
        let open = SetupQuestion.all.filter { draft[$0.key] == nil }
        guard !open.isEmpty else { return }
        show(
            "Each answer is checked at once. Enter accepts the value in brackets. Ctrl-C ends this, and nothing is written."
        )
        for question in open where question.isAsked(draft) { try ask(question, &draft) }
    }

    private func ask(_ question: SetupQuestion, _ draft: inout ConfigurationDraft) throws(CommandFailure) {
        let key = question.key
        write("\n")
        show(key.plainMeaning)
        if case .choice(let words) = key.type { show("One of \(words.joined(separator: ", ")).") }
        if key.type == .list { show("Separate several by commas; write none for none.") }
        while true {
            let offer = question.offer(draft, surroundings)
            write("\(key.name)\(offer.map { " [\($0.shown)]" } ?? ""): ")
            guard let line = readLine() else {
                throw CommandFailure("\nThe input ended before the last answer. Nothing was written.")
            }
            let answer = PastedText.value(line)
            if answer.isEmpty, offer == nil, let need = question.need {
                show(need)
                continue
            }
            if answer.isEmpty, let offer {
                draft[key] = offer.text
            } else {
                draft[key] = answer.isEmpty ? nil : question.text(ofAnswer: answer, offer: offer)
            }
            let problems = draft.problems(of: key)
            for problem in problems { show(problem.description) }
            if !problems.contains(where: { $0.severity == .error }) { return }
        }
    }

    /// Whole lines, as wide as the terminal.
    private func show(_ text: String) {
        write(TerminalText.wrapped(text.replacing("`", with: ""), to: width) + "\n")
    }
}
