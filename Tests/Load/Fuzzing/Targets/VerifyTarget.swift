import Accounts
import Coding
import Crypto
import HTTP
import HTTPTypes
import Storage

@testable import Web

extension FuzzTarget {
    /// A proxy's question at `/auth/verify`: the query in the first line, a field in each further one. What
    /// `VerifyFastPath` answers from the bytes, the readers of the ordinary route must read alike: the same session, no
    /// ambiguity in what the proxy said.
    static let verify = FuzzTarget(name: "verify", maximumLength: 1024) { input throws(Finding) in
        let lines = input.split(separator: 10, maxSplits: 64, omittingEmptySubsequences: false).map(Array.init)
        var bytes = Array("GET /auth/verify".utf8)
        if let query = lines.first, !query.isEmpty { bytes += [63] + query }
        bytes += Array(" HTTP/1.1\r\nHost: a.example".utf8)
        for line in lines.dropFirst() { bytes += [13, 10] + line }
        bytes += [13, 10, 13, 10]
        var parser = RequestParser()
        // A line may hold a line end; what comes behind the head is another request.
        guard let length = try? parser.parse(bytes.span) else { return nil }
        let head = Array(bytes[..<length])
        var isAnswered = false
        for style in OriginalRequest.Style.allCases {
            guard let answer = try ask(parser.head, head, style: style) else { continue }
            try check(parser.head, head, style: style, answer: answer)
            isAnswered = true
        }
        return isAnswered ? head : nil
    }

    private static func ask(
        _ head: RequestHead, _ bytes: [UInt8], style: OriginalRequest.Style
    ) throws(Finding) -> String? {
        guard let configuration = configuration(style) else { throw Finding("no configuration") }
        let path: VerifyFastPath
        do throws(StoreError) {
            path = try VerifyFastPath(configuration: configuration, directory: Everybody(), memory: 1_024)
        } catch {
            throw Finding("no reader: \(error)")
        }
        var output: [UInt8] = []
        let isAnswered = path.answer(
            head: head, bytes: bytes.span, peerIsTrusted: true, now: Everybody.now, date: Array("today".utf8),
            into: &output)
        try hold(isAnswered != output.isEmpty, "\(isAnswered), with \(output.count) bytes")
        return isAnswered ? String(decoding: output, as: UTF8.self) : nil
    }

    private static func check(
        _ head: RequestHead, _ bytes: [UInt8], style: OriginalRequest.Style, answer: String
    ) throws(Finding) {
        let request = head.makeRequest(bytes.span)
        guard let configuration = configuration(style),
            case .one(let text) = Cookies(configuration).session(in: request.headerFields),
            let token = SessionToken(parsing: text)
        else { throw Finding("answered without one session cookie: \(shown(bytes))") }
        let user = Everybody.user(token.hash).rawValue
        try hold(answer.contains("-User: \(user)\r\n"), "another session's answer to \(shown(bytes))")
        for style in [OriginalRequest.Style.forwarded, .original] {
            do throws(OriginalRequest.Refusal) {
                _ = try OriginalRequest(fields: request.headerFields, style: style, isFromTrustedProxy: true)
            } catch {
                throw Finding("answered, though the route refuses (\(error)): \(shown(bytes))")
            }
        }
        let query = Query(head.query.map { Array(bytes[$0.range]) } ?? [])
        do throws(Failure) {
            try VerifyQuery.checkFlags(query)
            try VerifyQuery.refuseNarrowing(query)
        } catch {
            throw Finding("answered, though the route refuses the query: \(shown(bytes))")
        }
    }

    private static func configuration(_ style: OriginalRequest.Style) -> WebConfiguration? {
        guard let url = PublicURL("https://login.example.com") else { return nil }
        var configuration = WebConfiguration()
        configuration.publicURL = url
        configuration.locales = ["en"]
        configuration.forwardAuth = style
        return configuration
    }
}

/// Knows a person for every token, named for it.
private struct Everybody: SessionDirectory {
    static let now = Timestamp(seconds: 1_800_000_000)
    let invalidations = SessionInvalidations()

    static func user(_ token: Digest256) -> UserID {
        UserID(unchecked: "usr_" + String(token.hexadecimal.prefix(26)))
    }

    func makeReader() throws(StoreError) -> SessionReader {
        SessionReader { token, now in
            let user = User(
                id: Self.user(token), state: .active, appleSubject: AppleSubject("001.sub"), createdAt: now)
            let session = Session(
                id: SessionID(unchecked: "ses_00000000000000000000000001"), tokenHash: token, kind: .browser,
                user: user.id, clientID: ClientID("com.example.web"), device: Device(userAgent: "", address: ""),
                issuedAt: now, createdAt: now, lastSeenAt: now, expiresAt: now.adding(seconds: 3600))
            return SignedIn(session: session, user: user)
        }
    }
}
