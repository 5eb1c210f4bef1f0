// As AuthenticationServices.swift beside this: SHA-256 as FIPS 180-4 writes it.
import Foundation

public struct SHA256Digest: Sequence, Sendable {
    let bytes: [UInt8]
    public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
}

public enum SHA256 {
    /// The first 32 bits of the fractional parts of the roots of the first primes (§4.2.2, §5.3.3).
    private static func fractions(_ count: Int, _ root: (Double) -> Double) -> [UInt32] {
        let primes = (2...311).filter { number in !(2..<number).contains { number % $0 == 0 } }
        return primes.prefix(count).map { prime in
            let value = root(Double(prime))
            return UInt32((value - value.rounded(.down)) * 4_294_967_296)
        }
    }

    private static let constants = fractions(64) { cbrt($0) }

    public static func hash<Bytes: DataProtocol>(data: Bytes) -> SHA256Digest {
        var message = [UInt8](data)
        let bits = UInt64(message.count) * 8
        message.append(0x80)
        while message.count % 64 != 56 { message.append(0) }
        for shift in stride(from: 56, through: 0, by: -8) { message.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        var state = fractions(8) { $0.squareRoot() }
        for start in stride(from: 0, to: message.count, by: 64) {
            compress(&state, Array(message[start..<start + 64]))
        }
        return SHA256Digest(
            bytes: state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) } })
    }

    private static func compress(_ state: inout [UInt32], _ block: [UInt8]) {
        func turned(_ word: UInt32, _ by: UInt32) -> UInt32 { word >> by | word << (32 - by) }
        var schedule = (0..<16).map { index in
            block[index * 4..<index * 4 + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (early, late) = (schedule[index - 15], schedule[index - 2])
            let first = turned(early, 7) ^ turned(early, 18) ^ early >> 3
            let second = turned(late, 17) ^ turned(late, 19) ^ late >> 10
            schedule.append(schedule[index - 16] &+ first &+ schedule[index - 7] &+ second)
        }
        var now = state
        for index in 0..<64 {
            let choice = now[4] & now[5] ^ ~now[4] & now[6]
            let majority = now[0] & now[1] ^ now[0] & now[2] ^ now[1] & now[2]
            let sumE = turned(now[4], 6) ^ turned(now[4], 11) ^ turned(now[4], 25)
            let sumA = turned(now[0], 2) ^ turned(now[0], 13) ^ turned(now[0], 22)
            let first = now[7] &+ sumE &+ choice &+ constants[index] &+ schedule[index]
            now = [first &+ sumA &+ majority] + now[0..<3] + [now[3] &+ first] + now[4..<7]
        }
        state = zip(state, now).map { $0 &+ $1 }
    }
}
