package import Coding

/// Why a token or a key set was refused. Texts are for the log; none contains a part of the token other than a kid or
/// alg.
package enum JOSEError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Longer than allowed, in bytes.
    case tooLarge(limit: Int)
    /// Not three non-empty parts between dots (RFC 7515 §7.1).
    case notCompact
    /// A part is not canonical base64url.
    case notBase64URL(part: String)
    /// A part is not strict JSON.
    case notJSON(part: String, JSONError)
    /// A part is JSON but not an object, or a member has the wrong type.
    case wrongShape(String)
    /// A header parameter that changes how the token must be read (`crit`, `b64`, `typ`).
    case unsupportedHeader(String)
    /// `alg` is absent or not the allowed one.
    case algorithm(String?)
    /// The set has no key with this kid, or the token names none.
    case unknownKey(String?)
    /// The key may not be used for this.
    case unusableKey(String)
    /// The key set as a whole is refused.
    case refusedKeySet(String)
    /// The signature is wrong.
    case badSignature

    package var description: String {
        switch self {
        case .tooLarge(let limit): "longer than \(limit) bytes"
        case .notCompact: "not three non-empty parts between dots"
        case .notBase64URL(let part): "the \(part) is not canonical base64url"
        case .notJSON(let part, let error): "the \(part) is not JSON: \(error)"
        case .wrongShape(let text): text
        case .unsupportedHeader(let name): "the header parameter \(name) is not accepted"
        case .algorithm(nil): "the header names no algorithm"
        case .algorithm(let name?): "the algorithm \(name.prefix(32).debugDescription) is not accepted"
        case .unknownKey(nil): "the header names no key"
        case .unknownKey(let kid?): "no key is named \(kid.prefix(64).debugDescription)"
        case .unusableKey(let text): "the key is not usable: \(text)"
        case .refusedKeySet(let text): "the key set is refused: \(text)"
        case .badSignature: "the signature does not verify"
        }
    }
}
