import Coding
import Crypto
import RelyingParty
import Synchronization

/// Endpoints without a queue behind them: what the API asks for is remembered, and what it shall find is put there.
final class FakeWebhooks: WebhookDirectory, WebhookSender, Sendable {
    static let one = "https://app.example/hook"
    static let two = "https://audit.example/in"

    struct State {
        var dead: [DeadWebhook] = []
        var retries: [WebhookRetry] = []
        var retried = 0
        var sent: [WebhookRequest] = []
        var answer = WebhookAnswer.status(204)
        var fails = false
    }

    let state = Mutex(State())

    private func check() throws(StoreError) {
        if state.withLock({ $0.fails }) { throw .unavailable("disk full") }
    }

    func webhookEndpoints() async throws(StoreError) -> [WebhookEndpoint] {
        try check()
        return [Self.one, Self.two].map {
            WebhookEndpoint(
                url: $0, addedAt: Timestamp(seconds: 1_790_000_000), backlog: 0, oldest: nil, deadLetters: 0,
                lastSuccessAt: nil, lastFailureAt: nil, lastFailure: nil, failingSince: nil, stoppedAt: nil,
                pausedUntil: nil)
        }
    }

    func deadWebhooks(after place: DeadWebhookPlace?, limit: Int) async throws(StoreError) -> [DeadWebhook] {
        try check()
        return state.withLock { state in
            let start = place.map { place in (state.dead.firstIndex { $0.place == place } ?? -1) + 1 } ?? 0
            return Array(state.dead[start...].prefix(limit))
        }
    }

    func retryWebhooks(_ retry: WebhookRetry, at now: Timestamp) async throws(StoreError) -> Int {
        try check()
        return state.withLock { state in
            state.retries.append(retry)
            return state.retried
        }
    }

    func send(_ request: WebhookRequest) async -> WebhookAnswer {
        state.withLock { state in
            state.sent.append(request)
            return state.answer
        }
    }

    func send(logoutToken: Secret, to address: LogoutAddress) async -> WebhookAnswer { state.withLock(\.answer) }

    func endpoints(clock: any WallClock, random: any RandomSource) -> WebhookEndpoints {
        let secret = try? WebhookSecret(parsing: "whsec_" + Base64.encode([UInt8](repeating: 1, count: 32)))
        return WebhookEndpoints(
            targets: secret.map { secret in
                [
                    WebhookTarget(url: Self.one, kinds: [.userCreated], secrets: { WebhookSecrets(secret) }),
                    WebhookTarget(url: Self.two, kinds: [.accountDeleted], secrets: { WebhookSecrets(secret) }),
                ]
            } ?? [],
            directory: self, sender: self, clock: clock, random: random)
    }
}
