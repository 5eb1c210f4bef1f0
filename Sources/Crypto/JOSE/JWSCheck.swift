internal import Coding

/// The implementation of `bramley jws verify`: checks one compact JWS against a key file, with the server's code.
///
/// Besides RS256 and ES256 it supports ES512, so that published examples can be checked; the server itself accepts only
/// RS256. The file is one JWK or a set. In a set the token's kid chooses; a token without kid needs a set of one. A
/// single JWK may have private members (an operator's own file), a set may not.
package enum JWSCheck {
    package enum Outcome: Hashable, Sendable {
        case valid
        case invalid(JOSEError)

        package var isValid: Bool { self == .valid }

        /// `OK`, or `FAIL` and why.
        package var line: String { if case .invalid(let error) = self { "FAIL: \(error)" } else { "OK" } }
    }

    /// The values of `--algorithm`.
    package static let algorithms = ["RS256", "ES256", "ES512"]

    /// - Parameters:
    ///   - keyFile: the content of the file: a JWK or a JWK set.
    ///   - algorithm: one of `algorithms`.
    ///   - input: the compact JWS; surrounding line ends are ignored.
    package static func run(keyFile: [UInt8], algorithm: String, input: [UInt8]) -> Outcome {
        do {
            try verify(keyFile: keyFile, algorithm: algorithm, input: input)
            return .valid
        } catch {
            return .invalid(error)
        }
    }

    private static func verify(keyFile: [UInt8], algorithm: String, input: [UInt8]) throws(JOSEError) {
        guard let text = String(validating: trimmed(input), as: UTF8.self) else { throw .notCompact }
        let jws = try CompactJWS.parse(text)
        guard let claimed = jws.algorithm, claimed.isExactly(algorithm) else { throw .algorithm(jws.algorithm) }
        let key = try key(for: jws, in: keyFile)
        switch algorithm {
        case "RS256": try RS256.verify(jws, with: key.rs256Key())
        case "ES256", "ES512":
            let key = try algorithm == "ES256" ? key.es256Key().key : key.es512Key()
            guard key.verify(signature: jws.signature, message: jws.signingInput) else { throw .badSignature }
        default: throw .algorithm(algorithm)
        }
    }

    private static func key(for jws: CompactJWS, in file: [UInt8]) throws(JOSEError) -> JWK {
        let object = try JSONObject.parse(file, part: "key file")
        guard object["keys"] != nil else {
            let key = JWK(object)
            if let wanted = jws.keyID, let id = key.keyID, !id.isExactly(wanted) { throw .unknownKey(wanted) }
            return key
        }
        let set = try JWKSet(object)
        guard let wanted = jws.keyID else {
            guard let only = set.keys.first, set.keys.count == 1 else { throw .unknownKey(nil) }
            return only
        }
        if let key = set.keys.first(where: { $0.keyID?.isExactly(wanted) == true }) { return key }
        throw .unknownKey(wanted)
    }

    private static func trimmed(_ input: [UInt8]) -> ArraySlice<UInt8> {
        func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
        let start = input.firstIndex { !isLineEnd($0) } ?? input.endIndex
        let end = input.lastIndex { !isLineEnd($0) } ?? start
        return input[start...].prefix(end - start + (start < input.endIndex ? 1 : 0))
    }
}
