import HTTP
import Sockets
import Testing

/// Every row of the table, against the server on a socket: docs/contribute/testing.md.
@Suite struct CorpusTests {
    private static let before = Array("GET /before HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
    private static let after = Array("GET /after HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".utf8)
    /// Longer rows are about limits, and take too long to split everywhere.
    private static let longestSplit = 400

    @Test func tableIsLargeAndNamesAreUnique() {
        #expect(Subject.all.map(\.cases.count).reduce(0, +) >= 500)
        for subject in Subject.all {
            var seen: Set<String> = []
            for row in subject.cases { #expect(seen.insert(row.name).inserted, "\(subject.name): \(row.name)") }
        }
        for row in Subject.all.flatMap(\.cases) {
            #expect(row.section.wholeMatch(of: #/\d{4,5} §[A-Z0-9][0-9.]*/#) != nil, "\(row.name): \(row.section)")
        }
    }

    /// Whole: the verdicts themselves, and what becomes of the connection.
    @Test(arguments: Subject.all) func whole(_ subject: Subject) async throws {
        try await withEcho { peer in
            for row in subject.cases {
                let answers = try await Self.hear(row, from: peer)
                Self.check(row, answers, subject)
            }
        }
    }

    /// The same answer, byte for byte, when each byte arrives separately.
    @Test(arguments: Subject.all) func byteByByte(_ subject: Subject) async throws {
        try await withEcho { peer in
            for row in subject.cases where row.bytes.count <= Self.longestSplit {
                try await Self.checkByteByByte(row, subject, with: peer)
            }
        }
    }

    /// The parser and the decoder by themselves, cut in two at every place.
    @Test(arguments: Subject.all) func everySplit(_ subject: Subject) {
        for row in subject.cases where row.bytes.count <= Self.longestSplit {
            let whole = listen(to: row.bytes)
            for split in 1..<max(2, row.bytes.count) {
                guard listen(to: row.bytes, cutAt: split) != whole else { continue }
                Issue.record("\(subject.name): \(row.name): cut at \(split)")
            }
        }
    }

    /// The server on a socket, cut in two at every fifth place; where the first one is, changes from row to row.
    @Test(arguments: Subject.all) func splits(_ subject: Subject) async throws {
        try await withEcho { peer in
            for (number, row) in subject.cases.enumerated() where row.bytes.count <= Self.longestSplit {
                let whole = try await Self.hear(row, from: peer)
                for split in stride(from: 1 + number % 5, to: row.bytes.count, by: 5) {
                    let pieces = [Array(row.bytes[..<split]), Array(row.bytes[split...])]
                    let halves = try await Self.hear(row, pieces: pieces, from: peer)
                    guard Self.comparable(halves, row) == whole else {
                        Issue.record("\(subject.name): \(row.name): cut at \(split): \(Self.text(halves))")
                        break
                    }
                }
            }
        }
    }

    /// Behind a good request in the same segment: that one is answered first, and nothing changes.
    @Test(arguments: Subject.all) func pipelined(_ subject: Subject) async throws {
        try await withEcho { peer in
            for row in subject.cases {
                let whole = try await Self.hear(row, from: peer)
                let both = try await Self.hear(row, pieces: [Self.before + row.bytes], from: peer)
                let first = both.count - whole.count
                guard first > 0, Array(both[first...]) == whole else {
                    Issue.record("\(subject.name): \(row.name): \(Self.text(both))")
                    continue
                }
                let answers = try AnswerReader.read(Array(both[..<first]))
                #expect(answers.map(\.status) == [200], "\(subject.name): \(row.name)")
                let target = try AnswerReader.understood(answers.first?.content ?? []).target
                #expect(target == "/before", "\(subject.name): \(row.name)")
            }
        }
    }

    /// What is refused for the lack of TLS is not, with it.
    private static func isAboutTLS(_ row: WireCase) -> Bool { row.verdicts == [.refused(421)] }

    @Test(arguments: Subject.all) func overTLS(_ subject: Subject) async throws {
        try await withSecureEcho { peer in
            for row in subject.cases where !Self.isAboutTLS(row) {
                Self.check(row, try await Self.hear(row, from: peer), subject)
            }
        }
    }

    /// Each byte in a record of its own, of a few rows of each subject: a handshake costs more than the rest.
    @Test(arguments: Subject.all) func overTLS_ByteByByte(_ subject: Subject) async throws {
        try await withSecureEcho { peer in
            let short = subject.cases.filter { $0.bytes.count <= Self.longestSplit && !Self.isAboutTLS($0) }
            for row in short.enumerated().filter({ $0.offset.isMultiple(of: 5) }).map(\.element) {
                try await Self.checkByteByByte(row, subject, with: peer)
            }
        }
    }

    private static func checkByteByByte(_ row: WireCase, _ subject: Subject, with peer: EchoPeer) async throws {
        let whole = try await hear(row, from: peer)
        let dripped = try await hear(row, pieces: row.bytes.map { [$0] }, from: peer)
        #expect(comparable(dripped, row) == whole, "\(subject.name): \(row.name)")
    }

    /// All that the server sends for the row and, unless that waits for more, a request behind it.
    private static func hear(_ row: WireCase, pieces: [[UInt8]]? = nil, from peer: EchoPeer) async throws -> [UInt8] {
        var pieces = pieces ?? [row.bytes]
        if row.ending == .waiting { return try await peer.exchange(pieces, halfClose: true) }
        pieces[pieces.count - 1] += after
        return try await peer.exchange(pieces)
    }

    /// Without the interim response that depends on how much had come.
    private static func comparable(_ bytes: [UInt8], _ row: WireCase) -> [UInt8] {
        let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        return row.mayContinue && bytes.starts(with: interim) ? Array(bytes.dropFirst(interim.count)) : bytes
    }

    private static func check(_ row: WireCase, _ bytes: [UInt8], _ subject: Subject) {
        let name = "\(subject.name): \(row.name): \(text(bytes))"
        var expected = row.verdicts
        if row.ending == .open {
            expected.append(.understood(.get("/after", fields: ["connection: close"])))
        }
        do {
            let heads = expected.indices.filter {
                if case .understood(let it) = expected[$0] { it.method == "HEAD" } else { false }
            }
            let answers = try AnswerReader.read(bytes, heads: Set(heads))
            #expect(answers.count == expected.count, "\(name)")
            for (answer, verdict) in zip(answers, expected) { try check(answer, verdict, name) }
            // Whoever is last says so.
            if row.ending != .waiting { #expect(answers.last?.fields["connection"] == "close", "\(name)") }
        } catch {
            Issue.record("\(name): \(error)")
        }
    }

    private static func check(_ answer: Answer, _ verdict: Verdict, _ name: String) throws {
        switch verdict {
        case .refused(let status):
            #expect(answer.status == status, "\(name)")
        case .understood(let expected):
            #expect(answer.status == 200, "\(name)")
            guard expected.method != "HEAD", answer.status == 200 else { return }
            var understood = try AnswerReader.understood(answer.content)
            if expected.fields == nil { understood.fields = nil }
            #expect(understood == expected, "\(name)")
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix(600), as: UTF8.self)
    }
}
