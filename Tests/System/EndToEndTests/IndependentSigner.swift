import AppleSimulator
import Coding
import IndependentSigning

extension IndependentSigner {
    /// A compact JWS over exactly these texts, whatever they say.
    /// - Parameter method: how it is really signed: `RS256`, `RS512`, `PS256`, `ES256`, `HS256-pem`, `HS256-der`,
    ///   `HS256-n`, `none`.
    func sign(header: String, payload: String, key: String = firstKey, method: String = "RS256") async throws -> String
    {
        try await answer(["op": "sign", "header": header, "payload": payload, "key": key, "method": method])
    }

    /// The JWK of a key, changed: `bits` for a key of that size, `members` set or (null) removed.
    func jwk(_ kid: String, bits: Int = 2048, members: JSON = [:]) async throws -> JSON {
        let text = try await answer(["op": "jwk", "key": kid, "bits": String(bits), "payload": members.text])
        return JSON(parsing: Array(text.utf8)) ?? .null
    }

    /// `{"header","claims"}` of a client secret, its ES256 signature checked against this PEM.
    func verifyClientSecret(_ token: String, pem: String) async throws -> JSON {
        let text = try await answer(["op": "es256", "payload": token, "key": pem])
        return JSON(parsing: Array(text.utf8)) ?? .null
    }

    /// The left half of a text's SHA-256 in base64url: `c_hash` and `at_hash`.
    func halfHash(_ text: String) async throws -> String { try await answer(["op": "half-hash", "key": text]) }

    /// One value of a SQLite database, read without our own code.
    func query(_ path: String, _ sql: String) async throws -> String {
        try await answer(["op": "sql", "key": path, "payload": sql])
    }

    private func answer(_ question: [String: String]) async throws -> String {
        try await blocking { try self.ask(question) }
    }
}

extension Site {
    /// Puts keys of the independent signer beside Apple's, and makes the server read the set again.
    func publish(_ keys: [JSON]) async throws {
        try await apple.control("PUT", "keys", ["foreign": .array(keys)])
    }

    func publishSignersKeys() async throws {
        let signer = IndependentSigner.shared
        try await publish([
            try await signer.jwk(IndependentSigner.firstKey), try await signer.jwk(IndependentSigner.secondKey),
        ])
    }
}
