import Foundation

/// An upgrade that the server has begun. `upgradeToken` is a password, for a few minutes.
struct Upgrade: Sendable {
    var id: String
    var upgradeToken: String
}

/// What the server says to a password, or to a code.
enum UpgradeAnswer: Sendable {
    /// It was right: ask Apple, with this nonce.
    case success(Upgrade, nonce: String)
    /// Right so far; a code is needed as well, of one of these kinds.
    case twoFactorAuthRequired(Upgrade, methods: [String])
    /// Wrong, or no such account: the server does not say which.
    case failure
}

/// What Apple gave. Sent in the very same bytes again when an answer is lost.
struct UpgradeProof: Codable, Sendable {
    var identityToken: String
    var authorizationCode: String
    /// Apple gives it the first time only: send it whenever you have it.
    var user: SignInRequest.Name?
}

/// Bramley's three routes for replacing a password by Sign in with Apple.
struct UpgradeClient: Sendable {
    let bramley: BramleyClient

    /// - Parameter server: `publicURL` of the server, such as https://id.example.com.
    init(server: URL) { bramley = BramleyClient(server: server) }

    /// Asks whether the password is right. Never sent again by itself: each try counts.
    func begin(username: String, password: String) async throws -> UpgradeAnswer {
        let content = try JSONEncoder().encode(["username": username, "password": password])
        return try answer(await bramley.send("POST", "api/v1/upgrades", content: content))
    }

    func secondFactor(_ upgrade: Upgrade, code: String) async throws -> UpgradeAnswer {
        let content = try JSONEncoder().encode(["code": code])
        return try answer(
            await bramley.send(
                "POST", "api/v1/upgrades/\(upgrade.id)/second-factor", token: upgrade.upgradeToken, content: content),
            to: upgrade)
    }

    /// Replaces the password. Asked again, with pauses, while the answer does not come or the application's servers are
    /// not done yet.
    func complete(_ upgrade: Upgrade, with proof: UpgradeProof) async throws -> SignedIn {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return try bramley.decode(
            SignedIn.self,
            from: await bramley.sendPersistently(
                "POST", "api/v1/upgrades/\(upgrade.id)/complete", token: upgrade.upgradeToken,
                content: encoder.encode(proof)))
    }

    private struct Document: Decodable {
        var result: String
        var id: String?
        var upgradeToken: String?
        var nonce: String?
        var methods: [String]?
    }

    private func answer(_ data: Data, to upgrade: Upgrade? = nil) throws -> UpgradeAnswer {
        let document = try bramley.decode(Document.self, from: data)
        if document.result == "failure" { return .failure }
        guard let id = document.id ?? upgrade?.id, let token = document.upgradeToken ?? upgrade?.upgradeToken else {
            throw URLError(.cannotParseResponse)
        }
        let upgrade = Upgrade(id: id, upgradeToken: token)
        switch (document.result, document.nonce) {
        case ("success", let nonce?): return .success(upgrade, nonce: nonce)
        case ("twoFactorAuthRequired", _): return .twoFactorAuthRequired(upgrade, methods: document.methods ?? [])
        default: throw URLError(.cannotParseResponse)
        }
    }
}
