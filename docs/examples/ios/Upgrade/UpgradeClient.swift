import Foundation

/// An upgrade in progress. Treat `upgradeToken` as a password; it expires after a few minutes.
struct Upgrade: Sendable {
    var id: String
    var upgradeToken: String
}

/// The server's answer to a password or code.
enum UpgradeAnswer: Sendable {
    /// Right: ask Apple with this nonce.
    case success(Upgrade, nonce: String)
    /// Right; a code by one of these methods is needed too.
    case twoFactorAuthRequired(Upgrade, methods: [String])
    /// Wrong, or no such account.
    case failure
}

/// Apple's answer. If the server's answer is lost, the same bytes are sent again.
struct UpgradeProof: Codable, Sendable {
    var identityToken: String
    var authorizationCode: String
    /// Apple gives it only once: always send it when you have it.
    var user: SignInRequest.Name?
}

/// Bramley's three routes for replacing a password with Sign in with Apple.
struct UpgradeClient: Sendable {
    let bramley: BramleyClient

    /// - Parameter server: `publicURL` of the server, such as https://id.example.com.
    init(server: URL) { bramley = BramleyClient(server: server) }

    /// Asks whether the password is right. Not repeated automatically: each try counts.
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

    /// Replaces the password. Repeated with pauses until an answer arrives and the application has finished.
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
