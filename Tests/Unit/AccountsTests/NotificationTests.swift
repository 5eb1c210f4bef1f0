import Coding
import LogRecording
import Storage
import Stores
import Testing

@testable import Accounts

@Suite struct NotificationTests {
    private static let time = Timestamp(seconds: 1_800_000_000)

    @Test("made-up key IDs are logged once a minute, with a count")
    func unverifiedAreLoggedOnceAMinute() async {
        let bench = SignInBench()
        let log = LogRecorder()
        let notifications = Notifications(
            provider: bench.apple, database: bench.store, clock: bench.clock, logger: log.logger)
        bench.apple.set { $0.notificationResult = .failure(Failure(.keysUnavailable, "unknown kid")) }
        for (seconds, count) in [(Int64(0), 1), (30, nil), (29, nil), (1, 3)] as [(Int64, Int?)] {
            let before = log.lines.count
            bench.clock.advance(seconds: seconds)
            await #expect(throws: Failure(.keysUnavailable, "unknown kid")) {
                try await notifications.receive([])
            }
            let lines = log.lines.dropFirst(before)
            #expect(lines.count == (count == nil ? 0 : 1))
            if let count { #expect(lines.first?.contains("count=\(count)") == true, "\(lines)") }
        }
    }

    @Test("notifications for another app are logged at once, then once a minute with a count")
    func otherAppsAreLogged() async throws {
        let bench = SignInBench()
        let log = LogRecorder()
        let notifications = Notifications(
            provider: bench.apple, database: bench.store, clock: bench.clock, logger: log.logger)
        func receive(_ audience: String, after seconds: Int64) async throws -> [String] {
            let before = log.lines.count
            bench.clock.advance(seconds: seconds)
            bench.apple.set { $0.notificationResult = .success(.ofOtherApp(audience)) }
            #expect(try await notifications.receive([]) == nil)
            return Array(log.lines.dropFirst(before))
        }
        let first = try await receive("com.example.primary", after: 0)
        #expect(first.count == 1)
        #expect(first[0].hasPrefix("warning notification refused for an unlisted app"))
        for part in ["com.example.primary", "apple.bundleIDs", "count=1", "notification_refused"] {
            #expect(first[0].contains(part), "\(first[0])")
        }
        #expect(try await receive("com.example.primary", after: 59).isEmpty)
        #expect(try await receive("com.example.other", after: 0).isEmpty)
        let later = try await receive("com.example.other", after: 1)
        #expect(later.count == 1 && later[0].contains("com.example.other") && later[0].contains("count=3"))
        #expect(try await receive("com.example.other", after: 30).isEmpty)
        #expect(
            notifications.unlistedAudiences().map { "\($0.audience) \($0.count)" }
                == ["com.example.primary 2", "com.example.other 3"])
        // A clock set back by a day.
        #expect(try await receive("com.example.other", after: -86_400).count == 1)
    }

    /// Regression: `/readyz` and `doctor` named the last one for good, so that the owner of any app could hide the others.
    @Test func keepsTheFirstUnlistedAppsOfADay() {
        var list: [UnlistedAudience] = []
        let start = Self.time
        for number in 0..<[UnlistedAudience].maximumCount { list.record("com.example.\(number)", at: start) }
        list.record("com.example.one-more", at: start.adding(seconds: 1))
        list.record("com.example.0", at: start.adding(seconds: 10))
        list.dropOld(at: start.adding(seconds: 10))
        #expect(list.map(\.audience) == (0..<8).map { "com.example.\($0)" })
        list.dropOld(at: start.adding(seconds: 86_400))
        #expect(list.map(\.count) == [2])
        list.dropOld(at: start.adding(seconds: 86_410))
        #expect(list.isEmpty)
    }
}

@Suite struct UserChangesTests {
    static let ann = PersonName(given: "Ann", family: "Lee")
    static let bob = PersonName(given: "Bob", family: "Ray")

    @Test(
        "a name fills only an empty field and never mixes two names",
        arguments: [
            (PersonName(), ann, ann), (PersonName(given: "Ann"), ann, ann), (PersonName(family: "Lee"), ann, ann),
            (PersonName(given: "Ann"), bob, PersonName(given: "Ann")),
            (PersonName(family: "Lee"), bob, PersonName(family: "Lee")),
            (ann, bob, ann), (ann, PersonName(), ann), (PersonName(), PersonName(), PersonName()),
        ])
    func fillsNames(stored: PersonName, new: PersonName, result: PersonName) {
        var name = stored
        name.fill(from: new)
        #expect(name == result)
    }

    @Test("a token without an address keeps the known one; another address resets the forwarding state")
    func absorbsEmail() {
        let claims = IdentityClaims(
            issuer: "i", clientID: ClientID("c"), subject: AppleSubject("s"), issuedAt: Timestamp(seconds: 1))
        var user = User(
            id: UserID(unchecked: "usr_1"), state: .active,
            email: EmailAddress(address: "a@x", isVerified: true, isPrivate: true), emailForwarding: false,
            appleSubject: AppleSubject("s"), createdAt: Timestamp(seconds: 1))
        var reports = LastReports()
        #expect(user.absorb(claims, firstConsent: nil, reports: &reports) == [])
        #expect(user.email?.address == "a@x")
        var moved = claims
        moved.email = EmailAddress(address: "b@x", isVerified: true, isPrivate: true)
        #expect(user.absorb(moved, firstConsent: nil, reports: &reports) == ["email", "emailForwarding"])
        #expect(user.emailForwarding == nil)
    }

    @Test("two accounts that join have the organization of the newer token", arguments: [nil, "college"], [1, 3])
    func joinsOrganizations(second: String?, seconds: Int64) {
        func user(_ organization: String?) -> User {
            User(
                id: UserID(unchecked: "usr_1"), state: .active, organizationID: organization,
                appleSubject: AppleSubject("s"), createdAt: Timestamp(seconds: 1))
        }
        var joined = user("school")
        var reports = LastReports(token: Timestamp(seconds: 2))
        joined.absorb(user(second), reports: &reports, LastReports(token: Timestamp(seconds: seconds)))
        #expect(joined.organizationID == (seconds == 3 ? second : "school"))
    }

    @Test("only Apple says who is in an organization")
    func storedGroupsOfAnOrganizationCountForNothing() {
        let user = User(
            id: UserID(unchecked: "usr_1"), state: .active, groups: ["staff", "org:school"], organizationID: "college",
            appleSubject: AppleSubject("s"), createdAt: Timestamp(seconds: 1))
        #expect(user.memberships == ["staff", "org:college"])
    }
}
