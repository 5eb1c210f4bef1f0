import Coding
import Crypto
import Testing

@testable import Accounts

@Suite struct TokenTests {
    @Test("a session token is brs_ and 256 random bits, and its hash is SHA-256 of all of it")
    func makesSessionTokens() {
        let token = SessionToken.make(random: SystemRandom())
        #expect(token.reveal().hasPrefix("brs_"))
        #expect(token.reveal().utf8.count == 47)
        #expect(token.hash == SHA256.hash(utf8: token.reveal()))
        #expect(SessionToken(parsing: token.reveal())?.hash == token.hash)
        #expect(SessionToken.make(random: SystemRandom()).hash != token.hash)
    }

    @Test(
        "malformed session tokens are refused",
        arguments: [
            "", "brs_", "brs_" + String(repeating: "A", count: 42), "brs_" + String(repeating: "A", count: 44),
            "brk_" + String(repeating: "A", count: 43), "BRS_" + String(repeating: "A", count: 43),
            "brs_" + String(repeating: "A", count: 42) + "=", "brs_" + String(repeating: "A", count: 42) + "+",
            "brs_" + String(repeating: "A", count: 41) + "é", " brs_" + String(repeating: "A", count: 42),
        ])
    func refusesOtherTokens(text: String) {
        #expect(SessionToken(parsing: text) == nil)
    }

    @Test("a binding is 256 random bits, and nothing else parses")
    func parsesBindings() {
        let binding = BrowserBinding.make(random: SystemRandom())
        #expect(binding.cookieValue.utf8.count == 43)
        #expect(BrowserBinding(cookie: binding.cookieValue)?.hash == binding.hash)
        for text in ["", "x", binding.cookieValue + "A", String(binding.cookieValue.dropLast()) + "=", "A B"] {
            #expect(BrowserBinding(cookie: text) == nil)
        }
        // Two spellings of one value would be two browsers: trailing bits are zero.
        #expect(BrowserBinding(cookie: String(repeating: "A", count: 42) + "B") == nil)
    }

    @Test("secrets print <redacted> however they are printed")
    func redacts() {
        let token = SessionToken.make(random: SystemRandom())
        let binding = BrowserBinding.make(random: SystemRandom())
        let refresh = RefreshToken("r.secret")
        for (secret, text) in [
            (token as Any, token.reveal()), (binding as Any, binding.cookieValue), (refresh as Any, refresh.value),
        ] {
            for printed in ["\(secret)", String(describing: secret), String(reflecting: secret), "\([secret])"] {
                #expect(!printed.contains(text))
            }
            var dumped = ""
            dump(secret, to: &dumped)
            #expect(!dumped.contains(text))
            #expect("\(secret)" == "<redacted>")
        }
        let binding2 = BindingCookie.value(binding)
        #expect(!"\(binding2)".contains(binding.cookieValue))
    }

    @Test func identifiersPackIntoTheirBits() {
        for _ in 0..<100 {
            let id: UserID = RandomIdentifier(random: SystemRandom()).make()
            #expect(id.packed.flatMap { UserID(packed: $0) } == id)
            #expect(id.packed?.last.map { $0 & 0x3F } == 0)
        }
        let bits = Array(repeating: UInt8(0xFF), count: 16)
        #expect(UserID(packed: bits + [0xC0])?.rawValue == "usr_" + String(repeating: "z", count: 26))
        #expect(UserID(packed: bits + [0xC1]) == nil)
        #expect(UserID(packed: bits) == nil)
        #expect(UserID(unchecked: "usr_I").packed == nil)
        #expect(UserID(unchecked: "usr_" + String(repeating: "i", count: 26)).packed == nil)
    }

    @Test("identifiers are a prefix and 26 characters of Crockford's alphabet")
    func makesIdentifiers() {
        let user: UserID = RandomIdentifier(random: SystemRandom()).make()
        #expect(user.rawValue.hasPrefix("usr_"))
        #expect(UserID(parsing: user.rawValue) == user)
        #expect(
            RandomIdentifier(random: FixedRandom(byte: 0)).make(SessionID.self).rawValue
                == "ses_" + String(repeating: "0", count: 26))
        #expect(
            RandomIdentifier(random: FixedRandom(byte: 0xFF)).make(EventID.self).rawValue
                == "evt_" + String(repeating: "z", count: 26))
        // 10000100 10000100 … in fives: 10000 10010 00010 01000 …
        #expect(
            RandomIdentifier(random: FixedRandom(byte: 0b1000_0100)).make(UserID.self).rawValue.hasPrefix("usr_gj28"))
    }

    /// What indexes gain by it: a later one is never put between earlier ones.
    @Test func identifiersSortByTime() {
        let random = RandomIdentifier(random: SystemRandom())
        let moments: [Int64] = [0, 1, 31, 32, 1023, 1024, 1_795_000_000_000, 1_795_000_000_001, (1 << 48) - 1]
        let identifiers = moments.map { random.make(at: Timestamp(milliseconds: $0), EventID.self) }
        #expect(identifiers.map(\.rawValue) == identifiers.map(\.rawValue).sorted())
        #expect(identifiers.allSatisfy { EventID(parsing: $0.rawValue) == $0 })
        #expect(identifiers.map { $0.packed?.prefix(6).reduce(0) { $0 << 8 | Int64($1) } } == moments)
        // Two of one moment differ, in 82 bits.
        let now = Timestamp(milliseconds: 1)
        #expect(Set((0..<1000).map { _ in random.make(at: now, SessionID.self) }).count == 1000)
        // A clock before 1970 makes no trap of it.
        #expect(random.make(at: Timestamp(milliseconds: -1), SessionID.self).rawValue.hasPrefix("ses_000000000"))
    }

    @Test(
        "malformed identifiers are refused",
        arguments: [
            "", "usr_", "ses_" + String(repeating: "0", count: 26), "usr_" + String(repeating: "0", count: 25),
            "usr_" + String(repeating: "0", count: 27), "usr_" + String(repeating: "i", count: 26),
            "usr_" + String(repeating: "A", count: 26), "usr_" + String(repeating: "0", count: 24) + "é",
        ])
    func refusesOtherIdentifiers(text: String) {
        #expect(UserID(parsing: text) == nil)
    }
}
