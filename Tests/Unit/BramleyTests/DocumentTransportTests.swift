import Accounts
import Coding
import HTTP
import HTTPTypes
import Testing

@testable import Bramley

/// What a host's answer means for a client's metadata document.
@Suite struct DocumentTransportTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func answer(_ status: Int, _ fields: [(HTTPField.Name, String)]) -> String {
        var all: HTTPFields = [:]
        for (name, value) in fields { all.append(HTTPField(name: name, value: value)) }
        let response = ClientResponse(status: HTTPResponse.Status(code: status), fields: all, body: [0x7B, 0x7D])
        switch WebhookTransport.answer(response, at: now) {
        case .content(let bytes, let lifetime): return "\(bytes.count) for \(lifetime)"
        case .refused(let reason): return reason
        case .failed(let reason): return "failed: \(reason)"
        }
    }

    @Test(
        "only status 200 is a document; a host that is in trouble has not withdrawn it",
        arguments: [
            (200, "2 for 0"), (201, "status 201"), (204, "status 204"), (206, "status 206"), (301, "status 301"),
            (302, "status 302"), (303, "status 303"), (304, "status 304"), (307, "status 307"), (308, "status 308"),
            (401, "status 401"), (404, "status 404"), (410, "status 410"), (429, "failed: status 429"),
            (500, "failed: status 500"), (503, "failed: status 503"),
        ])
    func status(status: Int, expected: String) {
        #expect(Self.answer(status, [(.contentType, "application/json"), (.location, "/other")]) == expected)
    }

    @Test(
        "only JSON, not compressed",
        arguments: [
            ("application/json; charset=utf-8", nil, "2 for 0"), ("Application/JSON", "identity", "2 for 0"),
            ("application/client-metadata+json", nil, "2 for 0"), ("text/json", nil, "its type is not JSON"),
            ("text/html", nil, "its type is not JSON"), ("application/jsonp", nil, "its type is not JSON"),
            ("", nil, "its type is not JSON"), ("application/json", "gzip", "it is compressed"),
            ("application/json", "br", "it is compressed"),
        ] as [(String, String?, String)])
    func type(type: String, coding: String?, expected: String) {
        #expect(
            Self.answer(200, [(.contentType, type)] + (coding.map { [(.contentEncoding, $0)] } ?? [])) == expected)
    }

    @Test(
        "its fields say how long it may be kept (RFC 9111 §4.2.1)",
        arguments: [
            ([(.cacheControl, "max-age=3600")], 3_600), ([(.cacheControl, "public, Max-Age=\"60\"")], 60),
            ([(.cacheControl, "max-age=3600"), (.age, "600")], 3_000), ([(.cacheControl, "no-store, max-age=9")], 0),
            ([(.cacheControl, "no-cache")], 0), ([(.cacheControl, "max-age=x")], 0),
            ([(.cacheControl, "max-age=99999999999999999999")], 0), ([(.cacheControl, "max-age=-5")], 0),
            ([(.expires, HTTPDate.format(1_800_000_900))], 900), ([(.expires, "0")], 0),
            ([(.expires, HTTPDate.format(1_800_000_900)), (.cacheControl, "max-age=5")], 5), ([], 0),
        ] as [([(HTTPField.Name, String)], Int64)])
    func lifetime(fields: [(HTTPField.Name, String)], seconds: Int64) {
        #expect(Self.answer(200, [(.contentType, "application/json")] + fields) == "2 for \(seconds)")
    }
}
