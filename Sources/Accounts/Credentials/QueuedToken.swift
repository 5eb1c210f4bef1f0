internal import Coding
package import Crypto

/// The refresh token of a deleted person in the revocation queue: bound to its entry, naming nobody.
///
/// A token that no sealing key opens when its person is deleted goes whole into a second seal, with the context of its
/// own: its key may come back, and by then what the context names is erased everywhere else.
package enum QueuedToken {
    /// Why a token cannot be opened.
    package struct Fault: Error, Hashable, Sendable {
        package var reason: SealingError
        /// The ID of the key that is needed, read from the seal; nil when the seal has an unknown form.
        package var keyID: String?

        package init(reason: SealingError, keyID: String?) {
            self.reason = reason
            self.keyID = keyID
        }
    }

    /// What `reseal` has to do with an entry.
    package enum Resealed {
        /// Under the current key already.
        case current
        case sealed([UInt8])
        /// No key opens the token; if given, `kept` replaces what is stored.
        case unreadable(Fault, kept: [UInt8]?)
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
    ) throws(Fault) -> [UInt8] {
        guard let inner = unwrapped(sealed, context, keyring) else {
            return try open(sealed, context, keyring)
        }
        return try open(inner.sealed, inner.context, keyring)
    }

    package static func resealed(_ sealed: [UInt8], context: [UInt8], keyring: SealingKeyring) -> Resealed {
        let inner = unwrapped(sealed, context, keyring)
        if inner == nil, !keyring.isOutdated(sealed) { return .current }
        do throws(Fault) {
            let token = try open(sealed, context: context, keyring: keyring)
            return .sealed(keyring.seal(token, purpose: .refreshToken, context: context))
        } catch {
            guard let inner, keyring.isOutdated(sealed) else { return .unreadable(error, kept: nil) }
            return .unreadable(
                error, kept: seal(inner.sealed, from: inner.context, context: context, keyring: keyring))
        }
    }

    private static func open(
        _ sealed: [UInt8], _ context: [UInt8], _ keyring: SealingKeyring
    ) throws(Fault) -> [UInt8] {
        try translating(try keyring.open(sealed, purpose: .refreshToken, context: context)) { (error: SealingError) in
            Fault(reason: error, keyID: SealingKeyring.keyID(of: sealed))
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
