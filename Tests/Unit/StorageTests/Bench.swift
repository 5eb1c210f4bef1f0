import Coding
import Crypto
import Foundation
import LogRecording
import Stores
import Strangers
import Synchronization
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

extension TemporaryFolder {
    func mode(_ name: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/" + name)
        return (attributes?[.posixPermissions] as? Int).map { $0 & 0o777 }
    }

    func setMode(_ mode: Int, _ name: String = "bramley.db") throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path + "/" + name)
    }
}

/// An answer that a test cannot go on from.
struct Unexpected: Error {
    let text: String

    init(_ text: String = "") { self.text = text }
}

/// A real database: SQLite in a temporary folder, or PostgreSQL in a schema of its own.
struct Bench {
    static let limits = {
        var limits = SessionLimits(lifetime: 86_400, idleTimeout: 3_600)
        limits.perUser = .max
        return limits
    }()
    static let team = TeamID("TEAM123456")
    static let web = ClientID("com.example.web")
    static let key = SealingKey.generate()

    let folder: TemporaryFolder
    let postgres: PostgresOptions?
    let clock = ManualClock()
    static let keyring = SealingKeyring(current: key, previous: [])
    var keyring = Bench.keyring

    init(isPostgres: Bool = TestEngine.isPostgres) throws {
        folder = try TemporaryFolder()
        postgres = isPostgres ? try #require(PostgresCluster.shared).makeSchema() : nil
    }

    func options(
        directory: String? = nil, origin: DatabaseOrigin = .real, onAccountDeleted: AccountDeletionPolicy = .erase,
        busyTimeout: Int = 20_000, retention: RetentionPolicy = RetentionPolicy()
    ) -> DatabaseOptions {
        var options = DatabaseOptions(
            StoreOptions(
                directory: directory ?? folder.path, postgres: postgres, origin: origin, busyTimeout: busyTimeout),
            sessionLimits: Self.limits, retention: retention, onAccountDeleted: onAccountDeleted)
        // Of no test's concern but where it is: the machine may be slow.
        options.store.optionalWritePatience = .seconds(60)
        return options
    }

    private var runtime: Runtime {
        Runtime(clock: clock, random: SystemRandom(), logger: .silent)
    }

    func open(_ options: DatabaseOptions? = nil) throws(StorageOpenError) -> Accounts.Database {
        try Database(
            options: options ?? self.options(), keyring: keyring, runtime: runtime)
    }

    /// Itself, and what a process has opened of it.
    func opened() throws(StorageOpenError) -> (Bench, Accounts.Database) { (self, try open()) }

    /// After `secrets.sealingKeyFile` was replaced, and the old key named as a previous one.
    func openAfterKeyRotation() throws(StorageOpenError) -> Accounts.Database {
        try Database(
            options: options(), keyring: SealingKeyring(current: .generate(), previous: [Self.key]), runtime: runtime)
    }

    /// Another program's connection to the same database.
    func stranger() throws -> any StoreStranger {
        guard let postgres else { return try Stranger(folder.path + "/bramley.db") }
        return PostgresStranger(try #require(PostgresCluster.shared).connect(to: postgres))
    }

    /// The value that a statement selects, as another program finds it.
    func text(_ sql: String) throws -> String? { try stranger().read { try $0.text(sql) } }

    /// How many rows another program finds.
    func count(_ table: String) throws -> Int {
        try stranger().read { try $0.integer("SELECT count(*) FROM \(table)") ?? -1 }
    }
}

/// A sign-in ready to be stored; each has its own attempt and session.
func record(
    _ subject: String = "ann", issuedAt: Timestamp? = nil, policy: SignUpPolicy = .open, replacing: SessionID? = nil,
    email: String? = nil, attempt: Digest256? = nil, attemptIssuedAt: Timestamp? = nil, binding: Digest256? = nil,
    window: BrowserBinding? = nil, at now: Timestamp
) -> SignInRecord {
    let identifiers = RandomIdentifier(random: SystemRandom())
    return SignInRecord(
        attempt: SignInAttempt(
            id: attempt ?? newAttempt(at: now), issuedAt: attemptIssuedAt ?? now,
            bindingHash: window?.hash ?? binding ?? randomDigest(), replacing: replacing),
        attemptExpiresAt: now.adding(seconds: 600), team: Bench.team,
        claims: IdentityClaims(
            issuer: "https://appleid.apple.com", clientID: Bench.web, subject: AppleSubject(subject),
            issuedAt: issuedAt ?? now,
            email: EmailAddress(address: email ?? "\(subject)@example.com", isVerified: true, isPrivate: false)),
        sealedRefreshToken: [1, 2, 3], firstCheckAt: now.adding(seconds: CheckSchedule.interval), policy: policy,
        newUser: identifiers.make(), session: identifiers.make(),
        token: window.map { .ofBrowser(BrowserTokens(of: $0, with: Bench.keyring)) } ?? .made(randomDigest()),
        kind: .browser, device: Device(userAgent: "Test", address: "127.0.0.1"),
        sessionExpiresAt: now.adding(seconds: 86_400), now: now)
}

extension SignInRecord {
    /// Of the session's token, if this makes a new session.
    var tokenHash: Digest256 { token.hash(of: session, since: now) }
}

/// An attempt's identifier, which begins with its time.
func newAttempt(at now: Timestamp) -> Digest256 {
    var digest = randomDigest()
    digest.words.0 = UInt64(now.milliseconds) << 16 | digest.words.0 & 0xFFFF
    return digest
}

func randomDigest() -> Digest256 { SHA256.hash(SystemRandom().bytes(32)) }

func notification(
    _ kind: AppleNotification.Kind, id: String = UUID().uuidString, subject: String? = "ann", time: Timestamp
) -> AppleNotification {
    let type = kind == .accountDeleted ? "account-delete" : kind.rawValue
    var notification = AppleNotification(
        id: id, type: type, clientID: Bench.web, eventTime: time, payload: "{\"sub\":\"\(subject ?? "")\"}")
    notification.subject = subject.map { AppleSubject($0) }
    return notification
}

extension SignInResult {
    var session: Session? {
        if case .signedIn(_, let session, _) = self { session } else { nil }
    }
    var user: User? {
        if case .signedIn(let user, _, _) = self { user } else { nil }
    }
}

extension Bench {
    /// Two days later Apple is asked about a credential, and no longer knows it.
    func findDead(_ database: Accounts.Database) async throws {
        clock.advance(seconds: 2 * 86_400)
        let now = clock.now()
        let begun = try await database.beginChecks(
            CheckScope(team: Self.team, clients: [Self.web]), limit: 1, schedule: CheckSchedule(random: SystemRandom()),
            at: now)
        _ = try await database.recordCheck(.dead, of: try #require(begun.first), at: now)
    }

    func databaseBytes() throws -> [UInt8] {
        var bytes: [UInt8] = []
        for name in ["bramley.db", "bramley.db-wal"] {
            let path = folder.path + "/" + name
            // Foundation leaks four KiB with every empty file it reads, such as a log that was just emptied.
            guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() else { continue }
            bytes += data
        }
        return bytes
    }
}

extension Accounts.Database {
    /// Runs SQL on the writing connection, between transactions, to limit or break it.
    func executeOnWriter(_ sql: String) throws {
        try store.engine.writer.sync { connection in try connection.execute(sql: sql) }
    }
}

extension Accounts.Database {
    func saveFirstConsent(
        team: TeamID, subject: AppleSubject, name: PersonName, at now: Timestamp
    ) async throws(Failure) {
        try await saveFirstConsent(FirstConsent(team: team, subject: subject, name: name), at: now)
    }

    /// Saves the name that somebody gave; the store's error, or nil.
    func save(_ name: String, of subject: String) async -> StoreError? {
        do throws(Failure) {
            try await saveFirstConsent(
                team: Bench.team, subject: AppleSubject(subject), name: PersonName(given: name),
                at: Timestamp(seconds: 1))
            return nil
        } catch {
            return error.ofStore
        }
    }
}

// What suites about applications begin with.
extension Bench {
    func signingKeys(_ database: Accounts.Database) -> SigningKeys {
        SigningKeys(database: database, keyring: keyring, algorithms: [], runtime: runtime)
    }

    func provider(
        _ database: Accounts.Database, audiences: [String] = [], keys: SigningKeys? = nil,
        documents: ClientDocuments? = nil
    ) -> OpenIDProvider {
        OpenIDProvider(
            issuer: "https://id.example.com", audiences: audiences, database: database,
            keys: keys ?? signingKeys(database), keyring: keyring, documents: documents, runtime: runtime)
    }
}

extension Accounts.Database {
    /// Somebody who has just signed in.
    func signIn(_ subject: String = "ann", at now: Timestamp) async throws -> SignedIn {
        let result = try await completeSignIn(StorageTests.record(subject, at: now))
        return SignedIn(session: try #require(result.session), user: try #require(result.user))
    }

    /// Changes every client.
    func changeClients(
        at now: Timestamp, _ edit: @escaping @Sendable (inout OpenIDClient) -> Void
    ) async throws(Failure) {
        _ = try await changeOpenIDClients(at: now) { clients in
            clients.map { client in
                var client = client
                edit(&client)
                return client
            }
        }
    }
}
