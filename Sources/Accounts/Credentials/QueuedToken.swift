internal import Coding
package import Crypto

/// The refresh token of a deleted person in the revocation queue: bound to its entry, naming nobody.
///
/// A token that no sealing key opens when its person is deleted goes whole into a second seal, with the context of its
/// own: its key may come back, and by then what the context names is erased everywhere else.
package enum QueuedToken {
    /// What `reseal` has to do with an entry.
    package enum Resealed {
        /// Under the current key already.
        case current
        case sealed([UInt8])
        /// No key opens the token, which needs the named one; if given, `kept` replaces what is stored.
        case unreadable(keyID: String?, kept: [UInt8]?)
    }

    private static let wrapping = SealingPurpose.other("unopened-token")

    /// - Parameters:
    ///   - sealed: the seal stored by the sign-in.
    ///   - old: its context.
    ///   - context: that of the queue's entry.
    package static func seal(
        _ sealed: [UInt8], from old: [UInt8], context: [UInt8], keyring: SealingKeyring
    ) -> [UInt8] {
        if let token = try? keyring.open(sealed, purpose: .refreshToken, context: old) {
            return keyring.seal(token, purpose: .refreshToken, context: context)
        }
        let count = UInt32(truncatingIfNeeded: old.count)
        let length = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> UInt32($0)) }
        return keyring.seal(length + old + sealed, purpose: wrapping, context: context)
    }

    package static func open(
        _ sealed: [UInt8], context: [UInt8], keyring: SealingKeyring
    ) throws(SealingError) -> [UInt8] {
        let (token, context) = unwrapped(sealed, context, keyring) ?? (sealed, context)
        return try keyring.open(token, purpose: .refreshToken, context: context)
    }

    /// The ID of the key that a token needs, read from its seal; nil when the seal has an unknown form.
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
