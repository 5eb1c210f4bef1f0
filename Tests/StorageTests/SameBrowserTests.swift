import Coding
import Crypto
import MemoryStores
import RelyingParty
import Testing

@testable import Storage

/// Whose session a browser has after another sign-in: the same rules for every store.
@Suite struct SameBrowserTests {
    typealias Subject = StoreContractTests.Subject

    @Test(
        "the same person's session goes on under a new token: what programs know of it stays",
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
}
