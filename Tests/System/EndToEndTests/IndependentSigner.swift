import AppleSimulator
import ChildProcesses
import Coding
import Foundation
import Synchronization
import Testing

/// Another implementation of JOSE in another process and language (Python's `joserfc` and `cryptography`): what the
/// running server accepts and refuses is not merely what we would have written ourselves.
final class IndependentSigner: Sendable {
    static let shared = IndependentSigner()

    /// Published beside the simulator's keys by `publish`.
    static let kid = "T8tIJ1zSrO"
    static let otherKid = "B9yKx0PqWd"
    /// Never published.
    static let strangersKid = "strangers1"

    /// Nil when it could not be started. Held from a question to its answer.
    private let program: Mutex<SpawnedProgram?>

    private init() {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "independent-signer.py").path
        program = Mutex(try? SpawnedProgram(["python3", "-u", script], input: .pipe, output: .pipe))
    }

    /// A compact JWS over exactly these texts, whatever they say.
    /// - Parameter method: how it is really signed: `RS256`, `RS512`, `PS256`, `ES256`, `HS256-pem`, `HS256-der`,
    ///   `HS256-n`, `none`.
    func sign(header: String, payload: String, key: String = kid, method: String = "RS256") async throws -> String {
        try await ask(["op": "sign", "header": header, "payload": payload, "key": key, "method": method])
    }

    /// A JWT as `joserfc` makes it of claims in JSON.
    func jwt(claims: String, kid: String = kid) async throws -> String {
        try await ask(["op": "jwt", "payload": claims, "key": kid])
    }

    /// The JWK of a key, changed: `bits` for a key of that size, `members` set or (null) removed.
    func jwk(_ kid: String, bits: Int = 2048, members: JSON = [:]) async throws -> JSON {
        let text = try await ask([
            "op": "jwk", "key": kid, "bits": String(bits), "payload": members.text,
        ])
        return JSON(parsing: Array(text.utf8)) ?? .null
    }

    /// `{"header","claims"}` of a client secret, its ES256 signature checked against this PEM.
    func verifyClientSecret(_ token: String, pem: String) async throws -> JSON {
        let text = try await ask(["op": "es256", "payload": token, "key": pem])
        return JSON(parsing: Array(text.utf8)) ?? .null
    }

    /// The left half of a text's SHA-256 in base64url: `c_hash` and `at_hash`.
    func halfHash(_ text: String) async throws -> String { try await ask(["op": "half-hash", "key": text]) }

    /// One value of a SQLite database, read without our own code.
    func query(_ path: String, _ sql: String) async throws -> String {
        try await ask(["op": "sql", "key": path, "payload": sql])
    }

    private func ask(_ question: [String: String]) async throws -> String {
        try await blocking { try self.askNow(question) }
    }

    private func askNow(_ question: [String: String]) throws -> String {
        var line = try JSONEncoder().encode(question)
        line.append(0x0A)
        return try program.withLock { program in
            guard let input = program?.input, let output = program?.output else {
                throw SiteError("python3 with joserfc and cryptography is needed")
            }
            try input.write(Array(line))
            var answer = Data()
            while answer.last != 0x0A {
                let more = output.next()
                guard !more.isEmpty else { throw SiteError("the signer ended: is joserfc installed?") }
                answer.append(contentsOf: more)
            }
            let reply = try JSONDecoder().decode([String: String].self, from: answer)
            if let error = reply["error"] { throw SiteError("the signer: \(error)") }
            return reply["answer"] ?? ""
        }
    }
}

extension Site {
    /// Puts keys of the independent signer beside Apple's, and makes the server read the set anew.
    func publish(_ keys: [JSON]) async throws {
        try await apple.control("PUT", "keys", ["foreign": .array(keys)])
    }

    func publishSignersKeys() async throws {
        let signer = IndependentSigner.shared
        try await publish([
            try await signer.jwk(IndependentSigner.kid), try await signer.jwk(IndependentSigner.otherKid),
        ])
    }
}
