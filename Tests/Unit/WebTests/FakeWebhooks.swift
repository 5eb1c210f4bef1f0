import Coding
import Crypto
import Storage
import Stores
import Synchronization

@testable import Accounts

/// Two endpoints of the database, and an application behind both with given answers, which records its requests.
final class FakeWebhooks: WebhookSender {
    static let one = "https://app.example/hook"
    static let two = "https://audit.example/in"

    struct State {
        var sent: [WebhookRequest] = []
        var answer = WebhookAnswer.status(204)
    }

    let state = Mutex(State())

    func send(_ request: WebhookRequest) async -> WebhookAnswer {
        state.withLock { state in
            state.sent.append(request)
            return state.answer
        }
    }

    func send(logoutToken: Secret, to address: LogoutAddress) async -> WebhookAnswer { state.withLock(\.answer) }

    func endpoints(_ database: Database, clock: any WallClock, random: any RandomSource) throws -> WebhookEndpoints {
        try database.setWebhookEndpoints([Self.one, Self.two], at: clock.now())
        let secrets = try WebhookSecrets(parsing: "whsec_" + Base64.encode([UInt8](repeating: 1, count: 32)))
        return WebhookEndpoints(
            targets: [
                WebhookTarget(url: Self.one, kinds: [.userCreated], secrets: { secrets }),
                WebhookTarget(url: Self.two, kinds: [.accountDeleted], secrets: { secrets }),
            ], database: database, sender: self, clock: clock, random: random)
    }
}

extension Site {
    /// So many events that the first endpoint has refused for good, a second apart.
    /// - Returns: their ids, the latest refusal first.
    func makeDeadLetters(_ count: Int) async throws -> [String] {
        signIn()
        for _ in 0..<count { database.put(.userCreated, of: Self.userID(1), at: clock.now()) }
        while try await store.queueWebhooks(of: [FakeWebhooks.one: [.userCreated]], limit: 100, at: clock.now()) {}
        var ids: [String] = []
        for _ in 0..<count {
            let endpoint = try await store.webhookWork(at: clock.now()).due[0]
            let delivery = try await store.dueWebhooks(for: endpoint, limit: 1, at: clock.now())[0]
            _ = try await store.record(
                .failed("status 500", next: nil, pausedUntil: nil), of: delivery, at: clock.now())
            ids.insert(delivery.entry.id.rawValue, at: 0)
            clock.advance(seconds: 1)
        }
        return ids
    }
}
