import Coding
import Crypto
import MemoryStores
import Testing

@testable import RelyingParty

/// How often somebody may be wrong about one account.
@Suite struct UsernameLimitTests {
    private let clock = ManualClock()

    private func limit(_ maximum: Int = 3) -> UsernameLimit {
        UsernameLimit(maximum: maximum, keyring: SealingKeyring(current: .generate(), previous: []))
    }

    @Test(
        "spellings that some verifier takes for one name are one",
        arguments: [
            [
                "alice", "Alice", "ALICE", " alice ", "ali ce", "alice\u{200B}", "\u{2060}al\u{AD}ice", "álice",
                "a\u{301}lice",
            ],
            ["sarah", "\u{17F}arah", "Sarah", "şarah", "SARAH\u{FE0F}"],
            ["strasse", "straße", "STRASSE", "strassé"],
            ["émile@example.com", "e\u{301}mile@example.com", "emile@example.com", "ÉMILE@EXAMPLE.COM"],
            ["jose", "josé", "jos\u{65}\u{301}", "JOS\u{C9}", "ɉose".replacing("ɉ", with: "j")],
            ["istanbul", "İstanbul", "ıstanbul"],
            ["king", "\u{212A}ing"],
        ])
    func oneName(_ spellings: [String]) {
        #expect(Set(spellings.map { CountedName($0) }).count == 1, "\(spellings.map { CountedName($0) })")
    }

    @Test(
        "other names are other names",
        arguments: [
            ["alice", "alicf", "alice1", "alice.", "alice@a", "alice@b"], ["王伟", "李娜", "王芳"], ["анна", "инна"],
            ["김민준", "김민서"], ["สมชาย", "คำ", "ทำ"], ["æ", "a", "ae"],
        ])
    func otherNames(_ names: [String]) {
        #expect(Set(names.map { CountedName($0) }).count == names.count, "\(names.map { CountedName($0) })")
    }

    @Test(
        "forms in which a name can be written many ways count as one",
        arguments: ["ａlice", "𝐚lice", "ⓐlice", "ﷺ", "и\u{306}ван", "\u{1100}\u{1161}", "α\u{301}"])
    func odd(_ name: String) {
        #expect(CountedName(name) == .odd)
    }

    @Test("so many tries in a quarter of an hour, then a wait until the first counts no more")
    func counts() {
        let limit = limit()
        let key = limit.key(of: "ann")
        for _ in 0..<3 {
            #expect(limit.consume(key, at: clock.now()) == nil)
            clock.advance(seconds: 60)
        }
        #expect(limit.consume(key, at: clock.now()) == 720)
        #expect(limit.consume(limit.key(of: "bob"), at: clock.now()) == nil)
        clock.advance(seconds: 720)
        #expect(limit.consume(key, at: clock.now()) == nil)
        #expect(limit.consume(key, at: clock.now()) == 60)
    }

    @Test("a try taken back leaves room for another, and no more than one")
    func givesBack() {
        let limit = limit(1)
        let key = limit.key(of: "ann")
        let moment = clock.now()
        #expect(limit.consume(key, at: moment) == nil)
        #expect(limit.consume(key, at: moment) != nil)
        limit.restore(key, of: moment)
        limit.restore(key, of: moment)
        #expect(limit.consume(key, at: moment) == nil)
        #expect(limit.consume(key, at: moment) != nil)
    }

    /// Whoever asks about names without end must not keep others from their own.
    @Test("more names than are remembered: each is still counted, and nobody waits for the others")
    func overflows() {
        let limit = limit()
        let now = clock.now()
        for number in 0..<UsernameLimit.capacity {
            #expect(limit.consume(limit.key(of: "name\(number)"), at: now) == nil)
        }
        let late = limit.key(of: "somebody")
        #expect((0..<5).map { _ in limit.consume(late, at: now) == nil } == [true, true, true, false, false])
        limit.restore(late, of: now)
        #expect(limit.consume(late, at: now) == nil)
        #expect(limit.consume(late, at: now) == 900)
        #expect((0..<1_000).count { limit.consume(limit.key(of: "other\($0)"), at: now) == nil } >= 990)
        clock.advance(seconds: 900)
        #expect(limit.consume(late, at: clock.now()) == nil)
    }

    @Test("a name without a key of 32 bytes is none")
    func keeps() {
        let key = limit().key(of: "ann")
        #expect(UsernameLimit.Key(kept: key.bytes[...]) == key)
        #expect(UsernameLimit.Key(kept: key.bytes.dropLast()) == nil)
    }
}
