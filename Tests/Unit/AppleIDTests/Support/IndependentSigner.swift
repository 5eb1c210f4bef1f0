import IndependentSigning

extension IndependentSigner {
    /// A compact JWS over exactly these texts, signed RS256 by `key` whatever the header says.
    func sign(header: String, payload: String, key: String) throws -> String {
        try ask(["op": "sign", "header": header, "payload": payload, "key": key, "method": "RS256"])
    }

    func token(_ claims: Claims, kid: String = firstKey) throws -> String {
        try sign(header: #"{"kid":"\#(kid)","alg":"RS256"}"#, payload: claims.json, key: kid)
    }

    /// A JWT as `joserfc` makes it of claims in JSON.
    func jwt(claims: String, kid: String) throws -> String {
        try ask(["op": "jwt", "payload": claims, "key": kid])
    }

    /// The body of `/auth/keys` with these keys.
    func keySet(_ kids: [String]) throws -> String {
        try ask(["op": "jwks", "key": kids.joined(separator: ",")])
    }

    /// A new P-256 private key in PKCS#8 PEM, by whose name `verifyClientSecret` knows it.
    func makeP256Key(_ name: String) throws -> String {
        try ask(["op": "p256", "key": name])
    }

    /// `header` and `claims` of a client secret as JSON, its ES256 signature checked by `joserfc`.
    func verifyClientSecret(_ text: String, key: String) throws -> String {
        try ask(["op": "es256", "payload": text, "key": key])
    }
}
