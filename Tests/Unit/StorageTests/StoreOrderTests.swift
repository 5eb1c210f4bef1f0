import Coding
import Crypto
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

/// An older word of Apple's never overwrites a newer one, in whatever order they arrive, and no deletion forgets it.
@Suite struct StoreOrderTests {
    typealias Subject = StoreContractTests.Subject

    /// A sign-in is in flight, Apple ends the consent, and the user is deleted before the sign-in is stored.
    @Test(
        "the end of a consent outlives the user's deletion: the older sign-in in flight is refused",
        arguments: StoreKind.allCases, [AppleNotification.Kind.consentRevoked, .accountDeleted])
    func endOutlivesDeletion(kind: StoreKind, end: AppleNotification.Kind) async throws {
        let subject = try Subject(kind, onAccountDeleted: .disable)
        let user = try await subject.signIn().user
        subject.clock.advance(seconds: 60)
        let inFlight = record(at: subject.now)
        subject.clock.advance(seconds: 2)
        _ = try await subject.store.apply(notification(end, time: subject.now), team: Bench.team, at: subject.now)
        #expect(try await subject.store.deleteUser(user, at: subject.now) != .unknown)
        #expect(try await subject.store.completeSignIn(late(inFlight, subject)) == .refused(.revoked, nil))
        #expect(try await subject.store.user(user) == nil)
        // What begins afterwards is a first sign-in.
        subject.clock.advance(seconds: 1)
        #expect(try await subject.signIn().user != user)
    }

    @Test("the end of a consent outlives the return of a deleted person", arguments: StoreKind.allCases)
    func endOutlivesReturn(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let user = try await subject.signIn().user
        subject.clock.advance(seconds: 60)
        let inFlight = record(at: subject.now)
        subject.clock.advance(seconds: 2)
        _ = try await subject.store.apply(
            notification(.consentRevoked, time: subject.now), team: Bench.team, at: subject.now)
        _ = try await subject.store.deleteUser(user, at: subject.now)
        subject.clock.advance(seconds: 1)
        let back = try await subject.signIn()
        #expect(back.user != user)
        #expect(try await subject.store.completeSignIn(late(inFlight, subject)) == .refused(.revoked, nil))
        #expect(try await subject.isLive(back))
    }

    /// Apple's notifications may overtake each other, and one about an older moment may be what erases.
    @Test("the newest end counts, not the last that arrived", arguments: StoreKind.allCases)
    func newestEndCounts(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let start = subject.now
        let user = try await subject.signIn().user
        subject.clock.advance(seconds: 60)
        let inFlight = record(at: subject.now)
        subject.clock.advance(seconds: 2)
        for (end, time) in [(AppleNotification.Kind.consentRevoked, subject.now), (.accountDeleted, start)] {
            subject.clock.advance(seconds: 1)
            _ = try await subject.store.apply(notification(end, time: time), team: Bench.team, at: subject.now)
        }
        #expect(try await subject.store.user(user) == nil)
        #expect(try await subject.store.completeSignIn(late(inFlight, subject)) == .refused(.revoked, nil))
    }

    @Test("an end is deleted when no earlier sign-in can be in flight, and identifies nobody until then")
    func endIsForgotten() async throws {
        let subject = try Subject(.sqlite)
        let database = subject.store
        let user = try await subject.signIn("ann-at-apple").user
        _ = try await database.apply(
            notification(.consentRevoked, subject: "ann-at-apple", time: subject.now), team: Bench.team, at: subject.now
        )
        _ = try await database.deleteUser(user, at: subject.now)
        let stranger = try subject.bench.stranger()
        func ends() async throws -> Int? {
            try stranger.read { try $0.integer("SELECT count(*) FROM consent_end") }
        }
        #expect(try await ends() == 1)
        let tables = ["notification", "consent_end", "revocation", "apple_identity"]
        for table in tables {
            let rows = try stranger.read { try $0.rows("SELECT * FROM \(table)") }
            #expect(!rows.description.contains("ann-at-apple"), "\(table)")
        }
        _ = try await database.maintain(at: subject.now.adding(seconds: RetentionPolicy.consentEnds - 1))
        #expect(try await ends() == 1)
        _ = try await database.maintain(at: subject.now.adding(seconds: RetentionPolicy.consentEnds))
        #expect(try await ends() == 0)
    }

    /// The sign-in, stored now.
    private func late(_ inFlight: SignInRecord, _ subject: Subject) -> SignInRecord {
        var late = inFlight
        late.now = subject.now
        return late
    }

    private func signIn(_ subject: Subject, _ address: String, _ issuedAt: Timestamp) async throws {
        var new = record(issuedAt: issuedAt, email: address, at: subject.now)
        new.claims.email?.isPrivate = address.hasPrefix("relay")
        new.claims.email?.isVerified = !address.hasPrefix("unverified")
        new.claims.realUserStatus = address.hasPrefix("relay") ? .unknown : .likelyReal
        #expect(try await subject.store.completeSignIn(new).session != nil)
    }

    /// Apple says that it forwards no mail any more.
    private func disableMail(
        _ subject: Subject, _ address: String, _ time: Timestamp
    ) async throws -> NotificationOutcome {
        var event = notification(.emailDisabled, time: time)
        event.email = EmailAddress(address: address, isVerified: false, isPrivate: true)
        return try await subject.store.apply(event, team: Bench.team, at: subject.now)
    }

    private func user(_ subject: Subject) async throws -> User {
        try #require(try await subject.store.user(team: Bench.team, subject: AppleSubject("ann")))
    }

    @Test("an older identity token changes neither the address nor its flags", arguments: StoreKind.allCases)
    func olderTokenChangesNothing(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let start = subject.now
        try await signIn(subject, "first@example.com", start)
        try await signIn(subject, "newest@example.com", start.adding(seconds: 20))
        let before = try await user(subject)
        let events = try await subject.journal().filter { $0.kind == .userUpdated }
        for older in ["relay@privaterelay.appleid.com", "unverified@example.com"] {
            try await signIn(subject, older, start.adding(seconds: 10))
            #expect(try await user(subject) == before)
        }
        #expect(try await subject.journal().filter { $0.kind == .userUpdated } == events)
        // One of the same second is as new, and came later.
        try await signIn(subject, "relay@privaterelay.appleid.com", start.adding(seconds: 20))
        let email = try await user(subject).email
        #expect(email?.address == "relay@privaterelay.appleid.com" && email?.isPrivate == true)
        #expect(try await user(subject).realUserStatus == .unknown)
    }

    /// The event says that this was the address at its time.
    @Test("a token older than Apple's notification about the address does not change it", arguments: StoreKind.allCases)
    func olderThanTheNotification(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let start = subject.now
        try await signIn(subject, "relay@privaterelay.appleid.com", start)
        #expect(
            try await disableMail(subject, "relay@privaterelay.appleid.com", start.adding(milliseconds: 20_500))
                == .applied)
        // iat has whole seconds: one of the event's own second counts as older.
        for seconds: Int64 in [10, 20] {
            try await signIn(subject, "older@example.com", start.adding(seconds: seconds))
            let now = try await user(subject)
            #expect(now.email?.address == "relay@privaterelay.appleid.com" && now.emailForwarding == false)
        }
        try await signIn(subject, "newer@example.com", start.adding(seconds: 21))
        let now = try await user(subject)
        #expect(now.email?.address == "newer@example.com" && now.emailForwarding == nil)
    }

    @Test("a notification about an address from before is stale", arguments: StoreKind.allCases)
    func notificationAboutAFormerAddress(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let start = subject.now
        try await signIn(subject, "former@privaterelay.appleid.com", start)
        try await signIn(subject, "newest@example.com", start.adding(seconds: 20))
        #expect(try await disableMail(subject, "former@privaterelay.appleid.com", start.adding(seconds: 10)) == .stale)
        #expect(try await user(subject).emailForwarding == nil)
        // The newest word on forwarding is kept by a token that says nothing of it.
        #expect(try await disableMail(subject, "newest@example.com", start.adding(seconds: 10)) == .applied)
        #expect(try await user(subject).emailForwarding == false)
    }

    /// Apple calls somebody who is about to come from another team by a name of its own.
    @Test("an older token does not overwrite the transfer subject")
    func olderTransferSubject() async throws {
        let subject = try Subject(.sqlite)
        let start = subject.now
        for (name, seconds) in [("first", 0), ("newest", 20), ("older", 10)] as [(String, Int64)] {
            var new = record(issuedAt: start.adding(seconds: seconds), at: subject.now)
            new.claims.transferSubject = name
            #expect(try await subject.store.completeSignIn(new).session != nil)
        }
        let stranger = try subject.bench.stranger()
        let name = try stranger.read {
            try $0.text("SELECT transfer_subject FROM apple_identity")
        }
        #expect(name == "newest")
    }
}
