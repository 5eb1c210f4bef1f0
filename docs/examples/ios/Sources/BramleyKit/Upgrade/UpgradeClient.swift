import Foundation

/// An upgrade in progress. Treat `token` and `ticket` as passwords; they expire after a few minutes.
struct Upgrade: Decodable, Sendable {
    /// Names the link at Bramley.
    var link: String
    /// For Bramley: Apple's answer is for this link.
    var ticket: String
    /// For Apple's sheet.
    var nonce: String
    /// For your application: completes the upgrade.
    var token: String
}

/// Your application's answer to a password or code.
enum UpgradeAnswer: Sendable {
    /// Right: ask Apple.
    case success(Upgrade)
    /// Right; a code by one of these methods is needed too.
    case twoFactorAuthRequired(challenge: String, methods: [String])
    /// Wrong, or no such account.
    case failure
}

/// Replaces a password with Sign in with Apple. Only your application gets the password, and only Bramley gets Apple's
/// answer.
public struct UpgradeClient: Sendable {
    /// Your application, which has the password; docs/examples/accounts has these routes.
    let application: BramleyClient
    let bramley: BramleyClient

    /// - Parameters:
    ///   - application: such as https://www.example.com.
    ///   - server: `publicURL` of Bramley, such as https://id.example.com.
    public init(application: URL, server: URL) {
        self.application = BramleyClient(server: application)
        bramley = BramleyClient(server: server)
    }

    /// Asks whether the password is right. Not repeated automatically: each try counts.
    func begin(name: String, password: String) async throws -> UpgradeAnswer {
        try await ask("upgrade", ["name": name, "password": password])
    }

    func secondFactor(challenge: String, code: String) async throws -> UpgradeAnswer {
        try await ask("upgrade/code", ["challenge": challenge, "code": code])
    }

    /// Brings Apple's answer to Bramley, and Bramley's code to your application, which drops the password. Both are
    /// repeated with pauses until an answer arrives.
    func complete(_ upgrade: Upgrade, with proof: LinkProof) async throws {
        let link = AccountLink(id: upgrade.link, ticket: upgrade.ticket, nonce: upgrade.nonce)
        let code = try await bramley.authorize(link, with: proof)
        let completion = ["link": upgrade.link, "token": upgrade.token, "code": code]
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        _ = try await application.sendPersistently("POST", "upgrade/complete", content: encoder.encode(completion))
    }

    private func ask(_ path: String, _ content: [String: String]) async throws -> UpgradeAnswer {
        struct Document: Decodable {
            var result: String
            var challenge: String?
            var methods: [String]?
        }
        let data = try await application.send("POST", path, content: JSONEncoder().encode(content))
        let document = try application.decode(Document.self, from: data)
        switch (document.result, document.challenge) {
        case ("success", _): return .success(try application.decode(Upgrade.self, from: data))
        case ("twoFactorAuthRequired", let challenge?):
            return .twoFactorAuthRequired(challenge: challenge, methods: document.methods ?? [])
        case ("failure", _): return .failure
        default: throw URLError(.cannotParseResponse)
        }
    }
}
