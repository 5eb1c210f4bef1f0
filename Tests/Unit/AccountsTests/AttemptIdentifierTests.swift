import Coding
import Crypto
import Testing

@testable import Accounts

@Suite struct AttemptIdentifierTests {
    private func identifier(_ state: String, at milliseconds: Int64) -> [UInt8] {
        SealedAttempt.identifier(of: SHA256.hash(utf8: state), issuedAt: Timestamp(milliseconds: milliseconds)).bytes
    }

    @Test("identifiers sort by time, whatever the states are")
    func order() {
        let times: [Int64] = [0, 1, 255, 256, 1_700_000_000_000, 1_700_000_000_001, 1 << 47]
        let identifiers = times.enumerated().map { identifier("state \($0.offset)", at: $0.element) }
        for (earlier, later) in zip(identifiers, identifiers.dropFirst()) {
            #expect(earlier.lexicographicallyPrecedes(later))
        }
    }

    @Test("six bytes of time and the last 26 of the digest, so that states of one moment differ")
    func parts() {
        let time: Int64 = 0x0102_0304_0506
        for number in 0..<64 {
            let state = "state \(number)"
            let made = identifier(state, at: time)
            #expect(Array(made.prefix(6)) == [1, 2, 3, 4, 5, 6])
            #expect(Array(made.dropFirst(6)) == Array(SHA256.hash(utf8: state).bytes.dropFirst(6)))
        }
        #expect(identifier("a", at: time) != identifier("b", at: time))
        #expect(identifier("a", at: time) != identifier("a", at: time + 1))
    }

    @Test(
        "a time beyond 48 bits is clamped",
        arguments: [-1, .min, 1 << 48, .max])
    func outOfRange(time: Int64) {
        #expect(Array(identifier("a", at: time).prefix(6)) == [UInt8](repeating: time < 0 ? 0 : 0xFF, count: 6))
    }
}
