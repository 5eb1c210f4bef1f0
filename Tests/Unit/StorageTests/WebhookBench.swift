import Coding
import Crypto
import LogRecording
import Logging
import Stores
import Synchronization
import Testing

@testable import Accounts
@testable import Storage

/// A database with people in it, two endpoints, and a way to make one event at a time.
struct WebhookBench: Sendable {
    static let one = "https://one.example/hook"
    static let two = "https://two.example/hook"
    static let allKinds = Set(JournalEntry.Kind.allCases)

    let bench: Bench
    let database: Accounts.Database
    let people: [UserID]
    let log = LogRecorder()
    var now: Timestamp { bench.clock.now() }

    init(people count: Int = 3, endpoints: [String] = [WebhookBench.one, WebhookBench.two]) async throws {
        (bench, database) = try Bench().opened()
        var people: [UserID] = []
        for index in 0..<count {
            people.append(
                try #require(try await database.completeSignIn(record("p\(index)", at: bench.clock.now())).user).id)
        }
        self.people = people
        try database.setWebhookEndpoints(endpoints, at: bench.clock.now())
    }

    /// One event, `user.updated`.
    func changePerson(_ person: Int, from database: Accounts.Database? = nil) async throws {
        let group = RandomIdentifier(random: SystemRandom()).make(EventID.self).rawValue
        _ = try await (database ?? self.database).patchUser(
            people[person], UserPatch(groups: [group]), at: now)
    }

    /// The last `count` events of the journal.
    func events(_ count: Int) async throws -> [JournalEntry] {
        Array(try await database.events(after: nil, limit: 100_000).suffix(count))
    }

    func queue(_ kinds: Set<JournalEntry.Kind> = allKinds, limit: Int = 100) async throws {
        try await queue([Self.one: kinds, Self.two: kinds], limit: limit)
    }

    func queue(_ kinds: [String: Set<JournalEntry.Kind>], limit: Int = 100) async throws {
        while try await database.queueWebhooks(of: kinds, limit: limit, at: now) {}
    }

    func due(_ url: String = WebhookBench.one, limit: Int = 1_000) async throws -> [WebhookDelivery] {
        var found: [WebhookDelivery] = []
        for endpoint in try await database.webhookWork(at: now).due {
            found += try await database.dueWebhooks(for: endpoint, limit: limit, at: now)
        }
        return found.filter { $0.url == url }
    }

    func dispatcher(
        _ sender: any WebhookSender, kinds: Set<JournalEntry.Kind> = allKinds,
        policy: WebhookPolicy = .standard, database: Accounts.Database? = nil
    ) throws -> WebhookDispatcher {
        let secrets = try WebhookSecrets(parsing: "whsec_" + Base64.encode([UInt8](0..<32)))
        let targets = [Self.one, Self.two].map { WebhookTarget(url: $0, kinds: kinds, secrets: { secrets }) }
        return dispatcher(sender, targets: targets, policy: policy, database: database)
    }

    func dispatcher(
        _ sender: any WebhookSender, targets: [WebhookTarget], policy: WebhookPolicy = .standard,
        database: Accounts.Database? = nil
    ) -> WebhookDispatcher {
        WebhookDispatcher(
            database: database ?? self.database, sender: sender, targets: targets, logoutTokens: fakeLogoutTokens,
            policy: policy,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: log.logger))
    }
}

extension WebhookDispatcher {
    /// Delivers one after the other until nothing is due.
    func drain() async {
        while true {
            let (deliveries, hasMore) = await round()
            for delivery in deliveries { await deliver(delivery) }
            if deliveries.isEmpty, !hasMore { return }
        }
    }
}

/// Says what it was asked for, instead of a signature.
let fakeLogoutTokens: LogoutTokens = { client, user, session, now in
    Secret("\(client) \(user) \(session?.rawValue ?? "all") \(now.seconds)")
}

/// An application with given answers, which records its requests.
final class FakeReceiver: WebhookSender {
    typealias Answer = @Sendable (WebhookRequest) async -> WebhookAnswer

    private let log = Mutex<[WebhookRequest]>([])
    private let tokens = Mutex<[String]>([])
    private let answer: Answer

    init(_ answer: @escaping Answer = { _ in .status(200) }) {
        self.answer = answer
    }

    var requests: [WebhookRequest] { log.withLock { $0 } }
    /// Logout tokens, each with its address before it.
    var logouts: [String] { tokens.withLock { $0 } }

    func ids(_ url: String = WebhookBench.one) -> [String] { requests.filter { $0.url == url }.map(\.id) }

    func send(_ request: WebhookRequest) async -> WebhookAnswer {
        log.withLock { $0.append(request) }
        return await answer(request)
    }

    func send(logoutToken: Secret, to address: LogoutAddress) async -> WebhookAnswer {
        tokens.withLock { $0.append("\(address.uri) \(logoutToken.reveal())") }
        return await answer(WebhookRequest(url: address.uri, id: "", timestamp: 0, signature: "", body: []))
    }
}

/// Something a test changes while others look at it.
final class Box<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>
    init(_ value: Value) { storage = Mutex(value) }
    var value: Value {
        get { storage.withLock { $0 } }
        set { storage.withLock { $0 = newValue } }
    }
}
