import Sockets

extension FuzzTarget {
    /// The PROXY header in front of a connection, both versions: more bytes change nothing once it is whole or wrong, none
    /// behind it is looked at, and a line says what it says to a second reader.
    static let proxy = FuzzTarget(name: "proxy", maximumLength: 512) { input throws(Finding) in
        let whole = answer(input, input.count)
        for end in 0..<input.count {
            let part = answer(input, end)
            if part == .more { continue }
            try hold(part == whole, "after \(end) bytes: \(part), then: \(whole)")
        }
        guard case .header(let source, let length) = whole else { return nil }
        try hold((1...input.count).contains(length), "\(length) bytes of \(input.count)")
        try hold(answer(Array(input[..<length]), length) == whole, "it needs bytes behind its end")
        try hold(answer(Array(input[..<length]) + [0x41, 13, 10], length + 3) == whole, "it minds what follows")
        if input[0] == UInt8(ascii: "P") { try checkLine(Array(input[..<length]), source) }
        if case .client(let client) = source {
            try hold(client.ip.normalized == client.ip, "\(client.ip) is not normal")
        }
        return Array(input[..<length])
    }

    private enum Answer: Equatable {
        case more
        case header(ProxyHeader.Source, length: Int)
        case wrong(ProxyHeaderError)
    }

    private static func answer(_ input: [UInt8], _ end: Int) -> Answer {
        do throws(ProxyHeaderError) {
            guard let (header, length) = try ProxyHeader.parse(input.span.extracting(0..<end)) else { return .more }
            return .header(header.source, length: length)
        } catch {
            return .wrong(error)
        }
    }

    /// `PROXY TCP4 192.0.2.1 198.51.100.1 56324 443`, by its words.
    private static func checkLine(_ line: [UInt8], _ source: ProxyHeader.Source) throws(Finding) {
        try hold(line.count <= 107 && line.suffix(2) == [13, 10], "line \(shown(line))")
        let words = line.dropLast(2).split(separator: 32, omittingEmptySubsequences: false).map {
            String(decoding: $0, as: UTF8.self)
        }
        guard case .client(let client) = source else {
            try hold(words.count >= 2 && words[1] == "UNKNOWN", "nobody by \(shown(line))")
            return
        }
        try hold(words.count == 6 && words[0] == "PROXY", "line \(shown(line))")
        try hold(words[1] == (words[2].contains(":") ? "TCP6" : "TCP4"), "family of \(shown(line))")
        try hold(IPAddress(words[2]) == client.ip && IPAddress(words[3]) != nil, "\(client.ip) by \(shown(line))")
        try hold(UInt16(words[4]) == client.port && UInt16(words[5]) != nil, "port \(client.port) by \(shown(line))")
    }
}
