import AppleSimulator
import ChildProcesses
import Coding
import Foundation
import HTTPTypes
import Testing

/// What the simulator signs, tools that know nothing of it must accept.
@Suite struct IndependentCheckTests {
    private static let vectors = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")

    private func run(_ command: [String], input: [UInt8] = []) throws -> String {
        let finished = try FinishedProgram(running: command, input: input, mergesErrors: true)
        return finished.outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private func verify(_ fixture: Fixture, _ token: String?, hash: String? = nil, of text: String? = nil) async throws
        -> String
    {
        let input: JSON = [
            "keys": try await fixture.get("/auth/keys").json["keys"] ?? [], "token": .string(token ?? ""),
            "hash": hash.map(JSON.string) ?? .null, "of": text.map(JSON.string) ?? .null,
        ]
        return try run(["python3", Self.vectors.appending(path: "verify.py").path()], input: input.bytes)
    }

    @Test func pythonAcceptsEveryKindOfToken() async throws {
        let fixture = Fixture()
        let signIn = try await fixture.signIn("chie")
        let code = signIn["code"]?.stringValue ?? ""
        #expect(try await verify(fixture, signIn["id_token"]?.stringValue, hash: "c_hash", of: code) == "OK")
        let tokens = try await fixture.exchange(code).json
        let access = tokens["access_token"]?.stringValue
        #expect(try await verify(fixture, tokens["id_token"]?.stringValue, hash: "at_hash", of: access) == "OK")
        try await fixture.control(.post, "keys/rotate")
        let sent = try await fixture.control(.post, "notifications", ["type": "consent-revoked", "person": "chie"])
        #expect(try await verify(fixture, sent.json["payload"]?.stringValue) == "OK")
    }

    @Test func pythonRefusesFlawedTokens() async throws {
        let fixture = Fixture()
        try await fixture.control(.put, "tokens", ["wrong": ["signature"]])
        #expect(try await verify(fixture, try await fixture.signIn()["id_token"]?.stringValue) == "bad signature")
        try await fixture.control(.put, "tokens", ["wrong": ["cHash"]])
        let signIn = try await fixture.signIn()
        let verdict = try await verify(
            fixture, signIn["id_token"]?.stringValue, hash: "c_hash", of: signIn["code"]?.stringValue)
        #expect(verdict == "bad c_hash")
    }

    /// A `.p8` made by the openssl command signs; the simulator checks with the public half, or with the file itself.
    @Test func opensslKeyAndSignatureFit() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apple-simulator-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "key").path()
        _ = try run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", file])
        let pem = try String(contentsOfFile: file, encoding: .utf8)
        let key = try #require(ClientKey(pem: pem))
        let message = folder.appending(path: "message").path()
        let signature = folder.appending(path: "signature").path()
        try Data("hello".utf8).write(to: URL(filePath: message))
        _ = try run(["openssl", "dgst", "-sha256", "-sign", file, "-out", signature, message])
        let raw = try raw(Array(Data(contentsOf: URL(filePath: signature))))
        #expect(key.verifies(signature: raw, message: Array("hello".utf8)))
        #expect(!key.verifies(signature: raw, message: Array("hallo".utf8)))
        #expect(!key.verifies(signature: Array(raw.dropLast()), message: Array("hello".utf8)))
    }

    /// R‖S out of DER.
    private func raw(_ der: [UInt8]) throws -> [UInt8] {
        var rest = der.dropFirst(2)
        var output: [UInt8] = []
        for _ in 0..<2 {
            rest = rest.dropFirst()
            let length = rest.popFirst()
            let count = Int(try #require(length))
            let digits = Array(rest.prefix(count).drop { $0 == 0 })
            output += [UInt8](repeating: 0, count: 32 - digits.count) + digits
            rest = rest.dropFirst(count)
        }
        return output
    }
}
