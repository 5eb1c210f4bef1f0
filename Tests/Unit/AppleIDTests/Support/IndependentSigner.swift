import ChildProcesses
import Foundation
import Synchronization
import Testing

/// Another implementation of JOSE, so that what we accept is not merely what we would have written ourselves: one
/// Python process (`joserfc`, `cryptography`) that makes keys, signs tokens and checks our client secrets.
final class IndependentSigner: Sendable {
    static let shared = IndependentSigner()

    /// The RSA keys it holds; both are in the key set of `keySet()` unless a test leaves one out.
    static let firstKey = "T8tIJ1zSrO"
    static let secondKey = "B9yKx0PqWd"
    /// Never published.
    static let strangersKey = "strangers1"

    /// Nil when it could not be started. Held from a question to its answer.
    private let program: Mutex<SpawnedProgram?>

    private init() {
        program = Mutex(try? SpawnedProgram(["python3", "-u", "-c", Self.script], input: .pipe, output: .pipe))
    }

    /// A compact JWS over exactly these texts, signed RS256 by `key` whatever the header says.
    func sign(header: String, payload: String, key: String) throws -> String {
        try ask(["op": "sign", "header": header, "payload": payload, "key": key])
    }

    /// A JWT as `joserfc` makes it of claims in JSON.
    func jwt(claims: String, kid: String) throws -> String {
        try ask(["op": "jwt", "payload": claims, "key": kid])
    }

    /// The body of `/auth/keys` with these keys.
    func keySet(_ kids: [String]) throws -> String {
        try ask(["op": "jwks", "key": kids.joined(separator: ",")])
    }

    /// A new P-256 private key in PKCS#8 PEM, and its number for `verifyClientSecret`.
    func makeP256Key(_ name: String) throws -> String {
        try ask(["op": "p256", "key": name])
    }

    /// `header` and `claims` of a client secret as JSON, its ES256 signature checked by `joserfc`.
    func verifyClientSecret(_ text: String, key: String) throws -> String {
        try ask(["op": "es256", "payload": text, "key": key])
    }

    private func ask(_ question: [String: String]) throws -> String {
        var line = try JSONEncoder().encode(question)
        line.append(0x0A)
        return try program.withLock { program in
            let running = try #require(program, "python3 with joserfc and cryptography is needed")
            let (input, output) = (try #require(running.input), try #require(running.output))
            try input.write(Array(line))
            var answer = Data()
            while !answer.contains(0x0A) {
                let more = output.next()
                guard !more.isEmpty else { throw SignerError(text: "the signer ended; is joserfc installed?") }
                answer.append(contentsOf: more)
            }
            let reply = try JSONDecoder().decode([String: String].self, from: answer)
            if let error = reply["error"] { throw SignerError(text: error) }
            return reply["answer"] ?? ""
        }
    }

    struct SignerError: Error {
        var text: String
    }

    private static let script = """
        import base64, json, sys
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
        from joserfc import jws, jwt
        from joserfc.jwk import ECKey, RSAKey

        b64 = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        keys = {}
        elliptic = {}

        def rsa_key(kid):
            if kid not in keys:
                keys[kid] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            return keys[kid]

        def jwk(kid):
            numbers = rsa_key(kid).public_key().public_numbers()
            octets = lambda n: b64(n.to_bytes((n.bit_length() + 7) // 8, "big"))
            return {"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256",
                    "n": octets(numbers.n), "e": octets(numbers.e)}

        def answer(q):
            op, key = q["op"], q.get("key", "")
            if op == "jwks":
                return json.dumps({"keys": [jwk(k) for k in key.split(",") if k]})
            if op == "sign":
                text = b64(q["header"].encode()) + "." + b64(q["payload"].encode())
                signature = rsa_key(key).sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
                return text + "." + b64(signature)
            if op == "jwt":
                private = rsa_key(key).private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
                return jwt.encode({"alg": "RS256", "kid": key}, json.loads(q["payload"]), RSAKey.import_key(private))
            if op == "p256":
                elliptic[key] = ec.generate_private_key(ec.SECP256R1())
                return elliptic[key].private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                    serialization.NoEncryption()).decode()
            if op == "es256":
                public = elliptic[key].public_key().public_bytes(
                    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
                token = jwt.decode(q["payload"], ECKey.import_key(public), algorithms=["ES256"])
                return json.dumps({"header": token.header, "claims": token.claims})
            raise ValueError(op)

        for line in sys.stdin:
            try:
                reply = {"answer": answer(json.loads(line))}
            except Exception as error:
                reply = {"error": repr(error)}
            print(json.dumps(reply), flush=True)
        """
}
