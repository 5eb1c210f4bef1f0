/// Why a key cannot be used.
package enum KeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No PEM block, or invalid base64 or ASN.1 in it.
    case malformed
    /// The PEM is protected by a passphrase.
    case encrypted
    /// Another kind of key, or another curve.
    case wrongKind
    /// The size is out of range; `bits` is the actual size.
    case unsupportedSize(bits: Int)
    /// The RSA exponent is even, below 3, or longer than 64 bits.
    case unsupportedExponent
    /// The coordinates are not a point of the curve, or the private and public halves do not match.
    case invalidPoint
    /// OpenSSL failed although the input is valid.
    case internalFailure

    /// One line for the operator; contains nothing of the key.
    package var description: String {
        switch self {
        case .malformed: "this is not a readable key"
        case .encrypted: "the key is protected by a passphrase; store it without one"
        case .wrongKind: "this is another kind of key"
        case .unsupportedSize(let bits): "the key has \(bits) bits; 2048 to 4096 are allowed"
        case .unsupportedExponent: "the public exponent must be odd, at least 3 and at most 64 bits long"
        case .invalidPoint: "the key is not a point on its curve"
        case .internalFailure: "OpenSSL failed"
        }
    }
}
