import Coding
import Crypto

/// The name of a first consent whose callback failed before the name could be stored, kept by the browser.
///
/// Apple sends the name only once, and a callback without a valid token writes nothing. So the browser gets the name
/// back, sealed, and sends it when the same person signs in there again. It is trusted as little as in Apple's form.
struct KeptName: Hashable, Sendable {
    var subject: AppleSubject
    var name: PersonName
    var keptAt: Timestamp

    /// Seconds: a week, for a person who comes back when the problem is solved.
    static let lifetime: Int64 = 7 * 86_400
    /// The length that every browser accepts for a cookie's value (RFC 6265 §6.1: 4096 bytes with name and attributes).
    static let maximumLength = 3_800

    private static let purpose = SealingPurpose.other("kept-name")

    /// The cookie's text; nil when the name is too long.
    func seal(with keyring: SealingKeyring) -> String? {
        let content: JSONObject = [
            "subject": .string(subject.rawValue), "given": .string(name.given ?? ""),
            "family": .string(name.family ?? ""), "keptAt": .integer(keptAt.milliseconds),
        ]
        let text = Base64URL.encode(keyring.seal(JSONWriter.encode(content), purpose: Self.purpose))
        return text.utf8.count <= Self.maximumLength ? text : nil
    }

    /// Nil unless this server sealed it, within its lifetime.
    static func open(_ text: String, with keyring: SealingKeyring, at now: Timestamp) -> KeptName? {
        guard text.utf8.count <= maximumLength, let sealed = Base64URL.decode(text),
            let plaintext = try? keyring.open(sealed, purpose: purpose),
            let object = (try? JSONReader.parse(plaintext))?.objectValue,
            let subject = object["subject"]?.stringValue, let keptAt = object["keptAt"]?.int64Value
        else { return nil }
        func part(_ name: String) -> String? { object[name]?.stringValue.flatMap { $0.isEmpty ? nil : $0 } }
        let kept = KeptName(
            subject: AppleSubject(subject), name: PersonName(given: part("given"), family: part("family")),
            keptAt: Timestamp(milliseconds: keptAt))
        return now < kept.keptAt.adding(seconds: lifetime) ? kept : nil
    }
}

extension SignIn {
    /// How long the browser keeps the value of `nameToKeep`, in seconds.
    package static var keptNameLifetime: Int64 { KeptName.lifetime }

    /// The name that the browser keeps from a callback that failed with `failure`; nil when it has none, when the name
    /// is already stored, or when nothing proves where it came from.
    ///
    /// The proof is the binding cookie of the browser that began the attempt. That cookie ends with the attempt; for a
    /// late callback, Apple's token is the proof.
    package func nameToKeep(of callback: ReceivedCallback, after failure: Failure) async -> String? {
        // A callback can fail in these ways before its name is in `first_consent`.
        let codes: [ReasonCode] = [.staleState, .identityToken, .clock, .keysUnavailable, .storage]
        guard codes.contains(failure.code) else { return nil }
        guard case .absent = callback.binding, callback.isStale else { return nameToKeep(ofTurnedAway: callback) }
        guard let name = callback.name, let form = try? callback.form.get(), let opened = callback.opened,
            let token = form.identityToken, let code = form.code,
            let claims = try? await provider.verify(
                identityToken: token, authorizationCode: code, nonce: Base64URL.encode(opened.nonce),
                clientIDs: [provider.servicesID])
        else { return nil }
        return seal(name, of: claims.subject)
    }

    /// The same for a callback refused by the rate limit, without a lookup or a verification.
    package func nameToKeep(ofTurnedAway callback: ReceivedCallback) -> String? {
        guard callback.isOfItsBrowser, let name = callback.name, let token = try? callback.form.get().identityToken,
            let subject = provider.claimedSubject(of: token)
        else { return nil }
        return seal(name, of: subject)
    }

    private func seal(_ name: PersonName, of subject: AppleSubject) -> String? {
        KeptName(subject: subject, name: name, keptAt: clock.now()).seal(with: keyring)
    }
}
