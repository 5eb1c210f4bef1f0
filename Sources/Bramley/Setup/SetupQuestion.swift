internal import Coding
internal import FoundationEssentials
internal import Sockets

// Asks for missing values, one key at a time, and again until the answer is valid.
extension InitCommand {
    private static let back = "<"

    /// - Parameter path: of the file that will be written.
    func complete(_ draft: inout ConfigurationDraft, for path: String) async throws(CommandFailure) {
        let open = SetupQuestion.all.filter { !draft.gives($0.key) }
        guard !open.isEmpty else { return }
        say(
            "Each answer is checked at once. Enter accepts the value in brackets, < goes back, Ctrl-C quits without "
                + "writing anything.")
        let keyFiles = Self.keyFiles()
        var answered: [Int] = []
        var former: [String: String] = [:]
        var next = 0
        while next <= open.count {
            if next < open.count, !open[next].isAsked(draft) {
                next += 1
                continue
            }
            let goesOn =
                next < open.count
                ? try await ask(open[next], &draft, keyFiles, former[open[next].key.name])
                : try await confirm(draft, path)
            if goesOn {
                answered.append(next)
                next += 1
            } else if let last = answered.popLast() {
                next = last
                let name = open[last].key.name
                former[name] = draft[name]
                draft[name] = nil
            } else {
                say("This is the first question.")
            }
        }
    }

    /// - Returns: false to go back.
    private func confirm(_ draft: ConfigurationDraft, _ path: String) async throws(CommandFailure) -> Bool {
        say("\nThis will be written to \(path):")
        let summary = draft.summary
        let width = summary.map(\.name.count).max() ?? 0
        for (name, text) in summary {
            say("  \(name)\(String(repeating: " ", count: width - name.count))  \(TerminalText.safe(text))")
        }
        while true {
            Self.write("Write it? [yes]: ")
            switch PastedText.value(try await readAnswer(draft)) {
            case "", "y", "yes": return true
            case Self.back: return false
            default: say("Enter writes it, < goes back, Ctrl-C quits.")
            }
        }
    }

    /// One line. When there is none, the answers so far are shown as a command, which can be continued.
    private func readAnswer(_ draft: ConfigurationDraft) async throws(CommandFailure) -> String {
        if let line = await StandardStream.input.readAnswer() { return line }
        Self.write("\n")
        if !draft.commandLine.isEmpty {
            say("To continue with these answers:")
            Self.write("  \(commandWords) \(draft.commandLine)\n")
        }
        throw CommandFailure(
            (Task.isCancelled ? "Interrupted." : "The input ended before the last answer.") + " Nothing was written.")
    }

    /// - Parameters:
    ///   - keyFiles: the `AuthKey_….p8` in the working directory.
    ///   - former: the answer before somebody went back.
    /// - Returns: false to go back.
    private func ask(
        _ question: SetupQuestion, _ draft: inout ConfigurationDraft, _ keyFiles: [String], _ former: String?
    ) async throws(CommandFailure) -> Bool {
        let key = question.key
        Self.write("\n")
        say(key.plainMeaning)
        if case .choice(let words) = key.type { say("One of \(words.joined(separator: ", ")).") }
        if key.type == .list { say("Separate values with commas. For an empty list, write none or [].") }
        while true {
            let usual = question.offer(draft, keyFiles)
            let offer = former.map { ($0.isEmpty ? "none" : $0, $0) } ?? usual
            Self.write("\(key.name)\(offer.map { " [\($0.shown)]" } ?? ""): ")
            let answer = PastedText.value(try await readAnswer(draft))
            if answer.isExactly(Self.back) { return false }
            if answer.isEmpty, offer == nil, let need = question.need {
                say(need)
                continue
            }
            if answer.isEmpty, let offer {
                draft[key.name] = offer.text
            } else {
                draft[key.name] = answer.isEmpty ? nil : question.text(ofAnswer: answer, offer: usual)
            }
            let problems = draft.problems(of: key)
            for problem in problems { say(problem.description) }
            if !problems.contains(where: { $0.severity == .error }) { return true }
            // Neither `<` nor the command to continue with keeps it.
            draft[key.name] = nil
        }
    }

    private static func keyFiles() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: ".")) ?? []
        return names.filter { AppleKeyFile.keyID(inNameOf: $0) != nil }.sorted()
    }

    /// Whole lines, as wide as the terminal.
    private func say(_ text: String) {
        let width = StandardStream.error.columns ?? 80
        Self.write(TerminalText.wrapped(text.replacing("`", with: ""), to: width) + "\n")
    }
}

/// One question of `bramley init`: a key of the table, its short flag, and the offered answer.
struct SetupQuestion: Sendable {
    let key: ConfigurationKey
    /// `--team-id`; the table's own `--apple-team-id` is accepted as well.
    let flag: String
    let option: any KeyPath<InitCommand, String?> & Sendable
    /// By the answers so far and the key files in the working directory; nil when Enter alone is not an answer.
    let offer: @Sendable (ConfigurationDraft, [String]) -> Offer?
    let isAsked: @Sendable (ConfigurationDraft) -> Bool
    /// Why Enter alone is not an answer although the key is optional; nil when it may be omitted.
    let need: String?

    /// The meaning of Enter: as it is shown, and the value it sets; nil omits the key.
    typealias Offer = (shown: String, text: String?)

    private init?(
        _ name: String, _ flag: String, _ option: any KeyPath<InitCommand, String?> & Sendable, need: String? = nil,
        offer: @escaping @Sendable (ConfigurationDraft, [String]) -> Offer? = { _, _ in nil },
        isAsked: @escaping @Sendable (ConfigurationDraft) -> Bool = { _ in true }
    ) {
        guard let key = ConfigurationTable.byName[name] else { return nil }
        self.key = key
        self.flag = flag
        self.option = option
        self.need = need
        self.isAsked = isAsked
        self.offer = offer
    }

    /// In the order asked. Nothing is offered for a required key without a default, except what Apple's key file tells.
    static let all: [SetupQuestion] = [
        SetupQuestion("publicURL", "--public-url", \.publicURL),
        SetupQuestion("apple.servicesID", "--services-id", \.servicesID),
        SetupQuestion("apple.teamID", "--team-id", \.teamID),
        SetupQuestion("apple.privateKeyFile", "--private-key-file", \.privateKeyFile) { _, keyFiles in
            keyFiles.count == 1 ? (keyFiles[0], keyFiles[0]) : nil
        },
        SetupQuestion("apple.keyID", "--key-id", \.keyID) { draft, _ in draft.keyIDOfFile.map { ($0, $0) } },
        SetupQuestion(
            "apple.bundleIDs", "--bundle-ids", \.bundleIDs,
            need: """
                Required. In Apple's portal, Identifiers, Services IDs, yours, Sign in with Apple, Configure shows the \
                primary App ID; Identifiers, App IDs shows its bundle ID. Without it, people who stop using your site \
                at Apple stay signed in. To continue without it, write none.
                """),
        SetupQuestion("apple.scopes", "--scopes", \.scopes) { _, _ in ("name, email", "name,email") },
        SetupQuestion("access.signUp", "--sign-up", \.signUp),
        SetupQuestion("site.name", "--site-name", \.siteName) { draft, _ in
            (draft.host ?? "the host of publicURL", nil)
        },
        SetupQuestion(
            "server.certificateFile", "--certificate-file", \.certificateFile,
            offer: { _, _ in ("none: a proxy has it", nil) }, isAsked: { $0.isSecure }),
        SetupQuestion(
            "server.privateKeyFile", "--certificate-key-file", \.certificateKeyFile, isAsked: { $0.hasCertificate }),
        SetupQuestion("server.trustedProxies", "--trusted-proxies", \.trustedProxies) { draft, _ in
            // A site with TLS that does not have the certificate has a proxy in front, most often on the same machine.
            draft.isSecure && !draft.hasCertificate ? ("127.0.0.1", "127.0.0.1") : ("none", nil)
        },
        SetupQuestion(
            "sessions.cookieDomain", "--cookie-domain", \.cookieDomain,
            offer: { draft, _ in ("none: \(draft.host ?? "publicURL's host") only", nil) },
            isAsked: { $0.hasParentDomain }),
        SetupQuestion("login.allowedReturnOrigins", "--return-origins", \.returnOrigins) { _, _ in ("none", nil) },
    ].compactMap { $0 }

    /// Lists are separated by commas or blanks, `none` is the empty one; nil omits the key, like Enter.
    func text(ofAnswer answer: String, offer: Offer?) -> String? {
        guard key.type == .list else {
            if let offer, offer.text == nil, answer == "none" { return nil }
            return answer
        }
        let entries = answer.split { $0 == "," || $0.isWhitespace }
        return entries == ["none"] || entries == ["[]"] ? "" : entries.joined(separator: ",")
    }
}
