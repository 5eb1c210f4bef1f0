/// One reader of untrusted bytes, and what must hold whatever it is given.
struct FuzzTarget: Sendable {
    /// Also the name of its folders of seeds and of failures, and of its dictionary.
    let name: String
    /// Longer inputs are not tried, in bytes.
    let maximumLength: Int
    /// Reads `input` in every way this target knows and holds the answers against each other.
    ///
    /// It returns the bytes that were accepted, or a part of them, nil when none were: the planted bug of the engine stands
    /// behind these, so that finding it proves that mutation gets through the reader and not merely to it.
    /// - Throws: `Finding`, and nothing else.
    let run: @Sendable (_ input: [UInt8]) throws(Finding) -> [UInt8]?

    static let all = [
        request, chunked, response, form, cookie, jws, jwk, json, claims, date, address, returnTarget, original, url,
        configuration, verify, http2, proxy, clientDocument,
    ]

    static func named(_ name: String) -> FuzzTarget? {
        all.first { $0.name == name }
    }
}

/// Something that must never be so.
struct Finding: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// - Throws: `Finding` with `text` unless `condition` holds.
func hold(_ condition: Bool, _ text: @autoclosure () -> String) throws(Finding) {
    guard condition else { throw Finding(text()) }
}

/// Ways to cut an input into pieces, each given as the ends of the pieces: the last is the whole length.
enum Cuts {
    /// At places that the input itself decides, so that a failure can be repeated from its bytes alone.
    static func chosen(_ input: [UInt8]) -> [Int] {
        // FNV-1a, then xorshift: any change of the input moves the places.
        var state: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in input { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
        state |= 1
        var ends: [Int] = []
        var end = 0
        while end < input.count {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            end += 1 + Int(state % 23)
            ends.append(min(end, input.count))
        }
        return ends.isEmpty ? [input.count] : ends
    }
}

/// What is read of an input in one piece.
/// - Parameter read: given the ends of the pieces.
/// - Throws: when anything else is read of it in other pieces.
func readInAnyPieces<Reading: Equatable>(
    _ input: [UInt8], by read: (_ ends: [Int]) throws(Finding) -> Reading
) throws(Finding) -> Reading {
    let whole = try read([input.count])
    // After every byte, and once more with nothing new.
    let bytewise = try read(Array(0...input.count))
    try hold(whole == bytewise, "byte by byte: \(bytewise), whole: \(whole)")
    let cut = try read(Cuts.chosen(input))
    try hold(whole == cut, "in pieces: \(cut), whole: \(whole)")
    return whole
}

extension Span<UInt8> {
    func copy(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in range { bytes.append(self[index]) }
        return bytes
    }
}

/// For messages: ASCII stands for itself, everything else is escaped.
func shown(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    for byte in bytes {
        if (0x20...0x7E).contains(byte), byte != 0x5C {
            text.append(byte)
        } else {
            text += Array("\\x\(String(byte, radix: 16))".utf8)
        }
    }
    return String(decoding: text, as: UTF8.self)
}
