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

        func run(on place: OperatorDatabase) async throws {
            try await place.record("credentials reseal")
            let report = try await Interruption.cancelling { try await Self.reseal(place) }
            try options.show(report.text, report.members(keys: place.keyring.keyIDs))
            guard report.isComplete else {
                throw CommandFailure("Interrupted. Run it again to continue: what is done is kept.")
            }
            if !report.unreadable.isEmpty { throw CommandFailure(report.complaint(keys: place.keyring.keyIDs)) }
        }

        private static func reseal(_ place: OperatorDatabase) async throws -> ResealReport {
            let resealing = Resealing(database: place.database, keyring: place.keyring, clock: place.clock)
            var bar: ProgressLine?
            defer { bar?.clear() }
            let report = try await resealing.run { progress in
                if bar == nil { bar = ProgressLine(total: progress.total, unit: "tokens") }
                bar?.update(count: progress.looked, done: progress.looked)
            }
            if let report { return report }
            let server = try await place.database.sealingKeyStamp()?.keyID
            throw CommandFailure(
                """
                The server was started last with the sealing key \(server ?? "(none)"), and this configuration names \
                \(place.keyring.currentKeyID): restart bramley serve with it first. Until then it could not open what \
                is sealed here.
                """)
        }
    }
}

extension ResealReport {
    /// For a person.
    var text: String {
        let done = [Self.count(tokens, "refresh token"), Self.count(signingKeys, "signing key")]
        var text = "\(done.joined(separator: " and ")) sealed again under \(keyID); \(current) already were."
        if let previousKeysUntil {
            text += """
                 Keep the previous sealing keys listed until \(previousKeysUntil.rfc3339): they open what browsers \
                were given before the change, and with them Bramley recognises people who were deleted before it.
                """
        }
        return text
    }

    /// What to do about what could not be opened: a missing key can be restored; damage cannot be undone.
    /// - Parameter keys: the IDs of the keys that were tried.
    func complaint(keys: [String]) -> String {
        let reasons = Self.reasons(unreadable, keys: keys)
        let parts = reasons.map { key, count, reason in
            switch reason {
            case .malformed: "\(count) in no form that this version knows"
            case .notAuthentic: "\(count) under \(key), which is listed and does not open them"
            case .unknownKey: "\(count) under \(key), which is not listed"
            }
        }
        var text = "Not opened, and left as they are: \(parts.joined(separator: "; "))."
        if reasons.contains(where: { $0.reason == .unknownKey }) {
            text += " List the missing key in secrets.previousSealingKeyFiles and run this again."
        }
        if reasons.contains(where: { $0.reason != .unknownKey }) {
            text += """
                 What a listed key does not open, and what has no form, is damaged, or was moved there from \
                elsewhere: no key helps. Look at the disk; take it from a backup, or leave it: the person's next \
                sign-in brings a new token.
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

    /// In JSON.
    /// - Parameter keys: as for `complaint`.
    fileprivate func members(keys: [String]) -> [FieldValue.Member] {
        let unreadable = Self.reasons(unreadable, keys: keys).map { key, count, reason -> [FieldValue.Member] in
            [("key", .code(key)), ("count", .number(count)), ("reason", .text(reason.word))]
        }
        return [
            ("key", .code(keyID)), ("complete", .flag(isComplete)), ("tokens", .number(tokens)),
            ("signingKeys", .number(signingKeys)), ("current", .number(current)),
            ("unreadable", .objects(unreadable)), ("previousKeysUntil", .time(previousKeysUntil)),
        ]
    }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}

extension SealingError {
    /// The value in JSON.
    fileprivate var word: String {
        switch self {
        case .malformed: "malformed"
        case .unknownKey: "unknown_key"
        case .notAuthentic: "not_authentic"
        }
    }
}
