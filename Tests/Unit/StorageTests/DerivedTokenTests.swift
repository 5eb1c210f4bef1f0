import Coding
import Crypto
import Foundation
import Storage
import Strangers
import Testing

@testable import Accounts

/// Somebody has the database and the sealing key, as in a backup that holds both. No token, code or ticket that works can
/// be computed from what is stored.
@Suite struct DerivedTokenTests {
    /// What keys are derived for, now and in earlier versions.
    private static let purposes = [
        "native-session-token", "native-session", "upgrade-session-token", "upgrade-session", "link-code",
        "waiting-ticket",
    ]
    private static let prefixes = ["brs_", "brl_", "brt_", "bru_", "bra_"]

    /// The hashes by which a secret is recognized, and every value of the rows beside them.
    private func stored(_ bench: LinkBench) throws -> (hashes: Set<[UInt8]>, values: Set<[UInt8]>) {
        try bench.bench.stranger().read { connection in
            var (hashes, values) = (Set<[UInt8]>(), Set<[UInt8]>())
            for table in ["session", "used_attempt", "code_exchange", "account_link", "waiting_identity"] {
                for row in try connection.rows("SELECT * FROM \(table)") {
                    for (name, value) in zip(row.names, row.values) {
                        switch value {
                        case .blob(let bytes):
                            if name.hasSuffix("_hash") { hashes.insert(bytes) }
                            if bytes.count == 32 { values.insert(bytes) }
                        case .text(let text) where !text.contains(" "): values.insert(Array(text.utf8))
                        default: break
                        }
                    }
                }
            }
            return (hashes, values)
        }
    }

    /// Keyed hashes of one stored value, of two in a row, and of two hashed together as links did.
    /// - Returns: the tokens whose hash is stored.
    private func computed(_ bench: LinkBench) throws -> Set<String> {
        let (hashes, values) = try stored(bench)
        var found: Set<String> = []
        for first in values {
            let messages = [first] + values.flatMap { [first + $0, SHA256.hash(first + Array("|".utf8) + $0).bytes] }
            for message in messages {
                for purpose in Self.purposes {
                    let secret = Base64URL.encode(bench.keyring.keyedHash(of: message, purpose: .other(purpose)))
                    for prefix in Self.prefixes where hashes.contains(SHA256.hash(utf8: prefix + secret).bytes) {
                        found.insert("\(prefix) by \(purpose)")
                    }
                }
            }
        }
        return found
    }

    private func nativeToken(_ bench: LinkBench) async throws -> SessionToken {
        let request = nativeRequest(bench)
        guard case .signedIn(let token, _) = await bench.signIn.completeNative(request, device: bench.device) else {
            throw Unexpected()
        }
        return token
    }

    private func nativeRequest(_ bench: LinkBench) -> NativeSignInRequest {
        let nonce = bench.signIn.beginNative().nonce
        let claim = Hexadecimal.encode(SHA256.hash(utf8: nonce).bytes)
        return NativeSignInRequest(identityToken: "ann|\(claim)|code-1", authorizationCode: "code-1", nonce: nonce)
    }

    @Test("an app's session")
    func nativeSession() async throws {
        let bench = try LinkBench()
        let token = try await nativeToken(bench)
        #expect(try await bench.database.signedIn(token: token.hash, at: bench.now) != nil)
        #expect(try computed(bench) == [])
    }

    @Test("a link's code, brought by an app or a browser", arguments: [true, false])
    func linkCode(inApp: Bool) async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        if inApp {
            _ = try await bench.authorize(link)
        } else {
            let attempt = try await bench.begin(link)
            guard case .linkAuthorized = await bench.post(bench.form(attempt)) else { throw Unexpected() }
        }
        #expect(try await bench.row(link.id).codeHash != nil)
        #expect(try computed(bench) == [])
    }

    @Test("the ticket and the code of a waiting person")
    func waitingTicket() async throws {
        let bench = try LinkBench(asksExisting: true)
        guard case .asksExisting(let person) = await bench.signInWithApple() else { throw Unexpected() }
        let binding = BindingCookie.value(bench.browser)
        let ticket = try await bench.signIn.ticket(ofWaiting: person.id, binding: binding)
        #expect(try computed(bench) == [])
        let link = try await bench.link(waiting: ticket)
        try await bench.open(link)
        _ = try await bench.signIn.connectWaiting(link.id, binding: binding)
        #expect(try await bench.row(link.id).codeHash != nil)
        #expect(try computed(bench) == [])
    }

    /// The search itself: tokens as they were made before are found.
    @Test(arguments: ["native-session-token", "link-code", "waiting-ticket"])
    func theSearchFinds(purpose: String) async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        _ = try await bench.authorize(link)
        let row = try await bench.row(link.id)
        let request = try #require(row.request)
        let message =
            switch purpose {
            case "native-session-token": row.ticketHash.bytes + request.bytes
            case "link-code": SHA256.hash(Array("\(link.id)|".utf8) + request.bytes).bytes
            default: Array(link.id.rawValue.utf8)
            }
        let secret = Base64URL.encode(bench.keyring.keyedHash(of: message, purpose: .other(purpose)))
        let hash = SHA256.hash(utf8: "brl_" + secret)
        try bench.bench.stranger().write {
            try $0.execute(
                "UPDATE account_link SET code_hash = ? WHERE id = ?",
                [hash.bytes, link.id.rawValue])
        }
        #expect(try computed(bench) == ["brl_ by \(purpose)"])
    }
}
