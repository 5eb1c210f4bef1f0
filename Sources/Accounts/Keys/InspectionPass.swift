package import Coding
package import Crypto

/// Proves that the sender of a request holds this server's sealing key: `bramley doctor` asks, through the public
/// address, how its requests arrive.
///
/// Nothing is stored, and a pass grants nothing else. Somebody who copies one can for a few minutes ask the same about
/// their own requests.
package enum InspectionPass {
    /// Valid this long before and after its time, in seconds, since two machines' clocks may differ.
    package static let lifetime: Int64 = 300

    private static let purpose = SealingPurpose.other("inspection")
    /// The time in milliseconds, 8 bytes.
    private static let contentCount = 8
    private static let length = (SealingKeyring.overhead + contentCount + 2) / 3 * 4

    package static func make(with keyring: SealingKeyring, at now: Timestamp) -> String {
        Base64URL.encode(keyring.seal([UInt8](bigEndian: now.milliseconds), purpose: purpose))
    }

    package static func isValid(_ text: String, with keyring: SealingKeyring, at now: Timestamp) -> Bool {
        // Check the length first: a stranger's field then costs no cryptography.
        guard text.utf8.count <= length, let sealed = Base64URL.decode(text),
            let bytes = try? keyring.open(sealed, purpose: purpose), bytes.count == contentCount
        else { return false }
        let moment = Timestamp(milliseconds: Int64(bigEndianBytes: bytes))
        return moment >= now.adding(seconds: -lifetime) && moment <= now.adding(seconds: lifetime)
    }

    private static let answerPurpose = SealingPurpose.other("inspection answer")

    /// Proves to the maker of `pass` that this server holds the key too; nil for an invalid pass.
    package static func answer(to pass: String, with keyring: SealingKeyring, at now: Timestamp) -> String? {
        guard isValid(pass, with: keyring, at: now) else { return nil }
        return Base64URL.encode(keyring.seal(SHA256.hash(utf8: pass).bytes, purpose: answerPurpose))
    }

    /// Whether `text` answers this very pass, made by a holder of the key.
    package static func isAnswer(_ text: String, to pass: String, with keyring: SealingKeyring) -> Bool {
        guard text.utf8.count <= 256, let sealed = Base64URL.decode(text),
            let bytes = try? keyring.open(sealed, purpose: answerPurpose)
        else { return false }
        return constantTimeEquals(bytes, SHA256.hash(utf8: pass).bytes)
    }
}
