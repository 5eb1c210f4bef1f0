import Accounts
import ArgumentParser
import Coding
internal import Crypto
internal import Storage

/// `bramley credentials reseal`
struct CredentialsResealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal", abstract: "Reseal stored tokens with the newest sealing key.",
        discussion: """
            Use after changing the sealing key, while the server runs. If interrupted, run it again.
            """)

    @OptionGroup var options: OperatorOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await OperatorDatabase.with(options) { place in
            try await place.record("credentials reseal")
            let report = try await Interruption.cancelling { try await Self.reseal(place) }
            if output.json {
                try CommandOutput.json { report.write(keys: place.keyring.keyIDs, to: &$0) }
            } else {
                try CommandOutput.line(report.text)
            }
            guard report.isComplete else {
                throw CommandFailure("Interrupted. Run it again to continue: what is done is kept.")
            }
            if !report.unreadable.isEmpty { throw CommandFailure(report.complaint(keys: place.keyring.keyIDs)) }
        }
    }

    private static func reseal(_ place: OperatorDatabase) async throws -> ResealReport {
        let resealing = Resealing(database: place.database, keyring: place.keyring, clock: SystemClock())
        var bar: ProgressLine?
        do throws(Resealing.Refusal) {
            let report = try await resealing.run { progress in
                if bar == nil { bar = ProgressLine(total: progress.total, unit: "tokens") }
                bar?.update(count: progress.looked, done: progress.looked)
            }
            bar?.clear()
            return report
        } catch {
            bar?.clear()
            switch error {
            case .store(let error): throw error
            case .otherKey(let ours, let server):
                throw CommandFailure(
                    """
                    The server was started last with the sealing key \(server ?? "(none)"), and this configuration names \
                    \(ours): restart bramley serve with it first. Until then it could not open what is sealed here.
                    """)
            }
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
                were given before the change, and by them people are known again who were deleted before it.
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
            case .malformed: "\(count) of no form this version knows"
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
                 What a listed key does not open, and what has no form, is damaged, or was moved there from elsewhere: no \
                key helps. Look at the disk; take it from a backup, or leave it: the person's next sign-in brings a new \
                token.
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

    /// - Parameter keys: as for `complaint`.
    func write(keys: [String], to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("key", keyID)
        writer.member("complete", isComplete)
        writer.member("tokens", Int64(tokens))
        writer.member("signingKeys", Int64(signingKeys))
        writer.member("current", Int64(current))
        writer.name("unreadable")
        writer.beginArray()
        for (key, count, reason) in Self.reasons(unreadable, keys: keys) {
            writer.beginObject()
            writer.member("key", key)
            writer.member("count", Int64(count))
            writer.member("reason", reason.word)
            writer.endObject()
        }
        writer.endArray()
        writer.member("previousKeysUntil", previousKeysUntil)
        writer.endObject()
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
