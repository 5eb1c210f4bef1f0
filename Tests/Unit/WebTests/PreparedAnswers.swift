import Coding
import HTTP
import Storage
import Stores
import Testing
import Web

@testable import Accounts

/// The prepared answers of `/auth/verify`, as a loop of the site's server gives them.
extension Site {
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    func fastPath(rules: CurrentAccessRules? = nil) throws -> VerifyFastPath {
        try VerifyFastPath(
            configuration: configuration, directory: store, rules: rules,
            issuer: AssertionIssuer(configuration: configuration, keys: signingKeys, random: CountingRandom()))
    }

    /// The lines of the whole answer; nil when the request was left to the route, with nothing written.
    func prepared(
        _ path: VerifyFastPath, _ lines: [String], request: String = "GET /auth/verify HTTP/1.1", trusted: Bool = false
    ) throws -> [String]? {
        let bytes = Array(([request, "Host: a.example"] + lines + ["", ""]).joined(separator: "\r\n").utf8)
        var parser = RequestParser()
        #expect(try parser.parse(bytes.span) != nil)
        var output = Array("before".utf8)
        // As a server does all the time: without, nothing is answered from memory.
        store.store.tick(at: clock.now())
        let isAnswered = path.answer(
            head: parser.head, bytes: bytes.span, peerIsTrusted: trusted, now: clock.now(), date: Array(Self.date.utf8),
            into: &output)
        let text = String(decoding: output, as: UTF8.self)
        #expect(text.hasPrefix("before"))
        #expect(isAnswered == (text != "before"))
        guard isAnswered else { return nil }
        let found = text.dropFirst(6).split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
        #expect(found.first == "HTTP/1.1 204 No Content")
        #expect(found.suffix(2) == ["", ""])
        return found
    }
}

/// The fields of a prepared answer, each once.
func fields(_ prepared: [String]) -> [String: String] {
    var fields: [String: String] = [:]
    for line in prepared.dropFirst().dropLast(2) {
        let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
        let known = fields.updateValue(String(parts[1].dropFirst()), forKey: parts[0])
        #expect(known == nil)
    }
    return fields
}
