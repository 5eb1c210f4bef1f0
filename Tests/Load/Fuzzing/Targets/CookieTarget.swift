import HTTPTypes

@testable import Web

extension FuzzTarget {
    /// Cookies, one `Cookie` field a line: the reader of the server against one that is written for clarity alone.
    static let cookie = FuzzTarget(name: "cookie", maximumLength: 1024) { input throws(Finding) in
        // What no head can hold becomes a blank, as in HTTPField itself.
        let lines = input.split(separator: 10, omittingEmptySubsequences: false).map { line in
            String(decoding: line.map { $0 < 32 && $0 != 9 || $0 == 127 ? 32 : $0 }, as: UTF8.self)
        }
        var fields = HTTPFields()
        for line in lines { fields.append(HTTPField(name: .cookie, value: line)) }
        var accepted: [UInt8]?
        for name in ["__Host-bramley", "__Host-bramley-login", "__Secure-bramley", "a"] {
            let read = Cookies.read(name, in: fields)
            try hold(read == plainly(name, lines), "\(name): \(read), plainly \(plainly(name, lines))")
            if case .one(let value) = read { accepted = Array(value.utf8) }
        }
        return accepted
    }

    private static func plainly(_ name: String, _ lines: [String]) -> NamedValue {
        var values: [String] = []
        for line in lines {
            for pair in Array(line.utf8).split(separator: 59) {
                guard let equals = pair.firstIndex(of: 61), trimmed(pair[..<equals]) == Array(name.utf8) else {
                    continue
                }
                values.append(String(decoding: trimmed(pair[(equals + 1)...]), as: UTF8.self))
            }
        }
        return values.isEmpty ? .absent : values.count == 1 ? .one(values[0]) : .several
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let front = bytes.drop { $0 == 32 || $0 == 9 }
        return Array(front.reversed().drop { $0 == 32 || $0 == 9 }.reversed())
    }
}
