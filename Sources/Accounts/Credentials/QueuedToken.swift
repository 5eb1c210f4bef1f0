internal import Coding
package import Crypto

/// The refresh token of a deleted person in the revocation queue, sealed for its entry.
///
/// A token that no sealing key opens when its person is deleted is sealed a second time, together with its own context:
/// its key may be restored later, when the values in that context are erased everywhere else.
package enum QueuedToken {
    package enum Resealed {
        /// Under the current key already.
        case current
        case sealed([UInt8])
        /// No key opens the token; `kept` replaces what is stored.
        case unreadable(keyID: String?, kept: [UInt8]?)
    }

    private static let wrapping = SealingPurpose.other("unopened-token")

    /// Seals `sealed`, the sign-in's seal with context `old`, again in `context`, that of the queue's entry.
    package static func seal(
        _ sealed: [UInt8], from old: [UInt8], context: [UInt8], keyring: SealingKeyring
    ) -> [UInt8] {
        if let token = try? keyring.open(sealed, purpose: .refreshToken, context: old) {
            return keyring.seal(token, purpose: .refreshToken, context: context)
        }
        let length = [UInt8](bigEndian: UInt32(truncatingIfNeeded: old.count))
        return keyring.seal(length + old + sealed, purpose: wrapping, context: context)
    }

    package static func open(
        _ sealed: [UInt8], context: [UInt8], keyring: SealingKeyring
    ) throws(SealingError) -> [UInt8] {
        let (token, context) = unwrapped(sealed, context, keyring) ?? (sealed, context)
        return try keyring.open(token, purpose: .refreshToken, context: context)
    }

    /// The ID of the key that a token needs, read from its seal; nil when the seal has an unknown format.
    package static func keyID(of sealed: [UInt8], context: [UInt8], keyring: SealingKeyring) -> String? {
        SealingKeyring.keyID(of: unwrapped(sealed, context, keyring)?.sealed ?? sealed)
    }

    package static func resealed(_ sealed: [UInt8], context: [UInt8], keyring: SealingKeyring) -> Resealed {
        let inner = unwrapped(sealed, context, keyring)
        if inner == nil, !keyring.isOutdated(sealed) { return .current }
        do throws(SealingError) {
            let token = try open(sealed, context: context, keyring: keyring)
            return .sealed(keyring.seal(token, purpose: .refreshToken, context: context))
        } catch {
            let keyID = SealingKeyring.keyID(of: inner?.sealed ?? sealed)
            guard let inner, keyring.isOutdated(sealed) else { return .unreadable(keyID: keyID, kept: nil) }
            return .unreadable(
                keyID: keyID, kept: seal(inner.sealed, from: inner.context, context: context, keyring: keyring))
        }
    }

    /// The content of a second seal; nil when there is none.
    private static func unwrapped(
        _ sealed: [UInt8], _ context: [UInt8], _ keyring: SealingKeyring
    ) -> (sealed: [UInt8], context: [UInt8])? {
        guard let whole = try? keyring.open(sealed, purpose: wrapping, context: context), whole.count >= 4 else {
            return nil
        }
        let count = Int(bigEndianBytes: whole.prefix(4))
        guard whole.count - 4 >= count else { return nil }
        return (Array(whole[(4 + count)...]), Array(whole[4..<(4 + count)]))
    }
}
