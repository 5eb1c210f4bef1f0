import Coding
import Crypto
import Stores
import Testing

@testable import Accounts
@testable import Storage

/// Whose session a browser has after another sign-in: the same rules for every store.
@Suite struct SameBrowserTests {
    typealias Subject = StoreContractTests.Subject

    @Test(
        "the same person's session continues under a new token and keeps its ID for applications",
        arguments: StoreKind.allCases)
    func renews(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let first = try await subject.signIn()
        subject.clock.advance(seconds: 60)
        let second = try await subject.signIn(replacing: first.id)
        #expect(second.id == first.id && second.tokenHash != first.tokenHash)
        #expect(second.createdAt == subject.now)
        #expect(try await !subject.isLive(first))
        #expect(try await subject.isLive(second))
        #expect(try subject.store.makeReader().signedIn(token: first.tokenHash, at: subject.now) == nil)
        let journal = try await subject.journal().filter { $0.session == first.id }
        #expect(journal.map(\.kind) == [.sessionCreated, .sessionCreated])
        #expect(journal.map(\.cause) == [nil, .replaced])
    }

    @Test("two windows of one browser make one session, and another person's ends", arguments: StoreKind.allCases)
    func tabs(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let first = try await subject.signIn(browser: "one")
        let second = try await subject.signIn(browser: "one")
        let elsewhere = try await subject.signIn(browser: "two")
        #expect(second.id == first.id && elsewhere.id != first.id)
        #expect(try await !subject.isLive(first))
        #expect(try await subject.isLive(second))
        let bob = try await subject.signIn("bob", browser: "one")
        #expect(try await !subject.isLive(second))
        #expect(try await subject.isLive(bob))
        #expect(try await subject.isLive(elsewhere))
        #expect(try await subject.journal().filter { $0.kind == .sessionEnded }.map(\.session) == [first.id])
    }

    /// The answers cross: a browser keeps the token of whichever comes last.
    @Test(
        "windows that sign in at the same time get the same token, a later sign-in another",
        arguments: StoreKind.allCases)
    func sharedToken(kind: StoreKind) async throws {
        let subject = try Subject(kind)
        let browser = BrowserBinding.make(random: SystemRandom())
        let begun = subject.now
        subject.clock.advance(seconds: 5)
        let first = try await subject.signIn(window: browser, begun: begun)
        #expect(try await subject.isLive(first))
        subject.clock.advance(seconds: 1)
        let second = try await subject.signIn(window: browser, begun: begun)
        #expect(second.id == first.id && second.tokenHash == first.tokenHash)
        // An application that asks for a new sign-in accepts one after its request.
        #expect(second.issuedAt > first.issuedAt && second.createdAt > begun)
        #expect(try await subject.store.signedIn(token: first.tokenHash, at: subject.now)?.session == second)
        #expect(try subject.store.makeReader().signedIn(token: first.tokenHash, at: subject.now)?.session == second)
        let later = try await subject.signIn(window: browser, begun: subject.now)
        #expect(later.id == first.id && later.tokenHash != first.tokenHash)
        #expect(try await !subject.isLive(first))
        let elsewhere = try await subject.signIn(window: .make(random: SystemRandom()), begun: begun)
        #expect(elsewhere.id != first.id && elsewhere.tokenHash != later.tokenHash)
        let bob = try await subject.signIn("bob", window: browser, begun: begun)
        #expect(bob.id != first.id && bob.tokenHash != later.tokenHash)
        #expect(try await !subject.isLive(later))
    }
}
