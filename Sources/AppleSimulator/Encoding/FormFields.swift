/// Named values in order: a query, or a form body.
struct FormFields: Sendable {
    private(set) var pairs: [(name: String, value: String)] = []

    init(_ pairs: [(name: String, value: String)] = []) {
        self.pairs = pairs
    }

    /// - Parameter plusIsSpace: true for `application/x-www-form-urlencoded` bodies. False for the query of
    ///   `/auth/authorize`, where Apple requires a space as `%20`.
    init(parsing text: some StringProtocol, plusIsSpace: Bool) {
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let name = Self.decode(halves[0], plusIsSpace: plusIsSpace)
            let value = halves.count == 2 ? Self.decode(halves[1], plusIsSpace: plusIsSpace) : ""
            pairs.append((name, value))
        }
    }

    /// The first value with that name.
    subscript(name: String) -> String? {
        pairs.first { $0.name == name }?.value
    }

    /// A non-empty value: absent and empty are the same.
    func text(_ name: String) -> String? {
        guard let value = self[name], !value.isEmpty else { return nil }
        return value
    }

    /// The first repeated name.
    var duplicate: String? {
        var seen: Set<String> = []
        return pairs.first { !seen.insert($0.name).inserted }?.name
    }

    var encoded: String {
        pairs.map { Self.encode($0.name) + "=" + Self.encode($0.value) }.joined(separator: "&")
    }

    /// Keeps RFC 3986 unreserved characters and encodes everything else as `%XX`, for queries and forms.
    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                bytes.append(byte)
            default:
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func decode(_ text: some Sequence<UInt8>, plusIsSpace: Bool) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+") && plusIsSpace {
                bytes.append(UInt8(ascii: " "))
            } else if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(digit),
                let low = rest.dropFirst().first.flatMap(digit)
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ character: UInt8) -> UInt8? {
        Character(Unicode.Scalar(character)).hexDigitValue.map(UInt8.init)
    }
}
