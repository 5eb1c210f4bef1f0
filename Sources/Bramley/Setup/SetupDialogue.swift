internal import Coding

/// Asks for missing values, one key at a time, and again until the answer is valid.
struct SetupDialogue {
    /// The `AuthKey_….p8` in the working directory.
    let keyFiles: [String]
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
            let offer = question.offer(draft, keyFiles)
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

/// One question of `bramley init`: a key of the table, its short flag, and the offered answer.
struct SetupQuestion: Sendable {
    let key: ConfigurationKey
    /// `--team-id`; the table's own `--apple-team-id` is accepted as well.
    let flag: String
    /// By the answers so far and the key files in the working directory; nil when Enter alone is not an answer.
    let offer: @Sendable (ConfigurationDraft, [String]) -> Offer?
    /// Whether the answers so far make it a question at all.
    let isAsked: @Sendable (ConfigurationDraft) -> Bool
    /// Why Enter alone is not an answer, though the configuration could do without; nil when it may be omitted.
    let need: String?

    /// The meaning of Enter: as it is shown, and the value it sets; nil omits the key.
    typealias Offer = (shown: String, text: String?)

    private init?(
        _ name: String, _ flag: String, need: String? = nil,
        offer: @escaping @Sendable (ConfigurationDraft, [String]) -> Offer? = { _, _ in nil },
        isAsked: @escaping @Sendable (ConfigurationDraft) -> Bool = { _ in true }
    ) {
        guard let key = ConfigurationTable.byName[name] else { return nil }
        self.key = key
        self.flag = flag
        self.need = need
        self.isAsked = isAsked
        self.offer = offer
    }

    /// In the order asked. A required key without a default is a decision: nothing is offered for it, except what
    /// Apple's key file tells.
    static let all: [SetupQuestion] = [
        SetupQuestion("publicURL", "--public-url"),
        SetupQuestion("apple.servicesID", "--services-id"),
        SetupQuestion("apple.teamID", "--team-id"),
        SetupQuestion("apple.privateKeyFile", "--private-key-file") { _, keyFiles in
            keyFiles.count == 1 ? (keyFiles[0], keyFiles[0]) : nil
        },
        SetupQuestion("apple.keyID", "--key-id") { draft, _ in
            draft.keyIDOfFile.map { ($0, $0) }
        },
        SetupQuestion(
            "apple.bundleIDs", "--bundle-ids",
            need: """
                Required. In Apple's portal: Identifiers, Services IDs, yours, Sign in with Apple, Configure shows the \
                primary App ID, and Identifiers, App IDs its bundle ID. Without it, people who stop using your site at \
                Apple stay signed in. To go on without, write none.
                """),
        SetupQuestion("apple.scopes", "--scopes") { _, _ in ("name, email", "name,email") },
        SetupQuestion("access.signUp", "--sign-up"),
        SetupQuestion("site.name", "--site-name") { draft, _ in
            (draft.host ?? "the host of publicURL", nil)
        },
        SetupQuestion("server.certificateFile", "--certificate-file") { _, _ in
            ("none: a proxy in front holds it", nil)
        } isAsked: {
            $0.isSecure
        },
        SetupQuestion("server.privateKeyFile", "--certificate-key-file", isAsked: { $0.hasCertificate }),
        SetupQuestion("server.trustedProxies", "--trusted-proxies") { draft, _ in
            // A site with TLS that does not have the certificate has a proxy in front, most often on the same machine.
            draft.isSecure && !draft.hasCertificate
                ? ("127.0.0.1", "127.0.0.1") : ("none", nil)
        },
        SetupQuestion("sessions.cookieDomain", "--cookie-domain") { draft, _ in
            ("none: \(draft.host ?? "publicURL's host") only", nil)
        } isAsked: {
            $0.hasParentDomain
        },
        SetupQuestion("login.allowedReturnOrigins", "--return-origins") { _, _ in ("none", nil) },
    ].compactMap { $0 }

    /// The key's text for what a person typed: lists separated by commas or blanks, `none` for the empty one; nil omits
    /// the key, like Enter.
    func text(ofAnswer answer: String, offer: Offer?) -> String? {
        guard key.type == .list else {
            if let offer, offer.text == nil, answer == "none" { return nil }
            return answer
        }
        let entries = answer.split { $0 == "," || $0.isWhitespace }
        return entries == ["none"] || entries == ["[]"] ? "" : entries.joined(separator: ",")
    }
}
