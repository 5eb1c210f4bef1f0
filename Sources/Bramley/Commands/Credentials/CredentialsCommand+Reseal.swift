internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto

extension CredentialsCommand {
    struct Reseal: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reseal stored tokens with the newest sealing key.",
            discussion: """
                Use after changing the sealing key, while the server runs. If interrupted, run it again.
                """)

        @OptionGroup var options: CommandOptions

        func run(on context: OperatorDatabase) async throws {
            try await context.record("credentials reseal")
            let report = try await Interruption.cancelling { try await Self.reseal(context) }
            try options.show(report.text(at: context.now), report.members(keys: context.keyring.keyIDs))
            try Self.judge(report, context)
        }

        static func judge(_ report: ResealReport, _ context: OperatorDatabase) throws(CommandFailure) {
            guard report.isComplete else {
                throw CommandFailure("Interrupted. Run it again to continue; completed work is kept.")
            }
            if !report.unreadable.isEmpty { throw CommandFailure(report.complaint(keys: context.keyring.keyIDs)) }
        }

        static func reseal(_ context: OperatorDatabase) async throws -> ResealReport {
            var bar: ProgressLine?
            defer { bar?.clear() }
            let report = try await context.database.reseal(context.keyring, clock: context.clock) { looked, total in
                if bar == nil { bar = ProgressLine(total: total, unit: "tokens") }
                bar?.update(count: looked, done: looked)
            }
            if let report { return report }
            let server = try await context.database.sealingKeyStamp()?.keyID
            throw CommandFailure(
                """
                The server was last started with the sealing key \(server ?? "(none)"), but this configuration has \
                \(context.keyring.currentKeyID). Restart bramley serve with this configuration first; until then, the \
                server could not open resealed tokens.
                """)
        }
    }
}

extension ResealReport {
    func text(at now: Timestamp) -> String {
        let done = [Quantity.count(tokens, "refresh token"), Quantity.count(signingKeys, "signing key")]
        var text = "\(done.joined(separator: " and ")) resealed with \(keyID); \(current) already were."
        if isOver(at: now) {
            text += "\nOnly older backups need the previous sealing keys now."
        } else if let previousKeysUntil, previousKeysUntil > now {
            text += """

                Keep the previous sealing keys until \(previousKeysUntil.rfc3339): they open what browsers received \
                before the change, and find people in the audit log and deleted people.
                """
        }
        return text
    }

    /// What to do about what could not be opened: a missing key can be restored; damage cannot be undone.
    func complaint(keys: [String]) -> String {
        let reasons = Self.reasons(unreadable, keys: keys)
        let parts = reasons.map { key, count, reason in
            switch reason {
            case .malformed: "\(count) in an unknown format"
            case .notAuthentic: "\(count) sealed with \(key), which is listed but does not open them"
            case .unknownKey: "\(count) sealed with \(key), which is not listed"
            }
        }
        var text = "Could not be opened and were left unchanged: \(parts.joined(separator: "; "))."
        if reasons.contains(where: { $0.reason == .unknownKey }) {
            text += " List the missing key in secrets.previousSealingKeyFiles and run this again."
        }
        if reasons.contains(where: { $0.reason != .unknownKey }) {
            text += """
                 Values that a listed key does not open, or in an unknown format, are damaged or were copied from \
                elsewhere; no key opens them. Check the disk. Restore them from a backup, or leave them: the person's \
                next sign-in brings a new token.
                """
        }
        return text
    }

    private static func reasons(
        _ unreadable: [String: Int], keys: [String]
    ) -> [(key: String, count: Int, reason: SealingError)] {
        unreadable.sorted { $0.key < $1.key }.map { key, count in
            if key.isEmpty { return (key, count, .malformed) }
            return (key, count, keys.contains(where: key.isExactly) ? .notAuthentic : .unknownKey)
        }
    }

    func members(keys: [String]) -> [FieldValue.Member] {
        let unreadable = Self.reasons(unreadable, keys: keys).map { key, count, reason -> [FieldValue.Member] in
            [("key", .code(key)), ("count", .number(count)), ("reason", .text(reason.word))]
        }
        return [
            ("key", .code(keyID)), ("complete", .flag(isComplete)), ("tokens", .number(tokens)),
            ("signingKeys", .number(signingKeys)), ("current", .number(current)),
            ("unreadable", .objects(unreadable)), ("previousKeysUntil", .time(previousKeysUntil)),
        ]
    }
}

extension SealingError {
    fileprivate var word: String {
        switch self {
        case .malformed: "malformed"
        case .unknownKey: "unknown_key"
        case .notAuthentic: "not_authentic"
        }
    }
}
