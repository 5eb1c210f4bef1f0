/// Why a key is not one this server uses.
package enum KeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No PEM block, or broken base64 or ASN.1 inside it.
    case malformed
    /// The PEM is protected by a passphrase.
    case encrypted
    /// Another kind of key, or another curve.
    case wrongKind
    /// The size is outside what is allowed; `bits` as found.
    case unsupportedSize(bits: Int)
    /// The RSA exponent is even, below 3, or longer than 64 bits.
    case unsupportedExponent
    /// The modulus carries the mark of the Infineon generator (CVE-2017-15361): its factors can be computed.
    case weakGenerator
    /// The coordinates are no point of the curve, or the private and public halves disagree.
    case invalidPoint
    /// OpenSSL failed where no input is to blame.
    case internalFailure

    /// One line for the operator; never part of the key.
    package var description: String {
        switch self {
        case .malformed: "this is no readable key"
        case .encrypted: "the key is protected by a passphrase; store it without one"
        case .wrongKind: "this is another kind of key"
        case .unsupportedSize(let bits): "the key has \(bits) bits; 2048 to 4096 are allowed"
        case .unsupportedExponent: "the public exponent must be odd, at least 3 and at most 64 bits long"
        case .weakGenerator: "the key comes from a generator known to be broken (CVE-2017-15361)"
        case .invalidPoint: "the key is no point of its curve"
        case .internalFailure: "OpenSSL failed"
        }
    }
}
