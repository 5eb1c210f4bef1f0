import Coding
import Crypto
import HTTP
import HTTPTypes
import LogRecording
import Sockets
import Stores
import Testing
import Web

@testable import Accounts

/// What `bramley doctor` is answered, and nobody else.
@Suite struct InspectionTests {
    private let site: Site

    init() throws { site = try Site() }

    private func pass(after seconds: Int64 = 0, with keyring: SealingKeyring? = nil) -> String {
        InspectionPass.make(with: keyring ?? site.keyring, at: site.clock.now().adding(seconds: seconds))
    }

    private func parsed(_ response: ServerResponse) -> InspectionReport? {
        guard case .bytes(let bytes) = response.body else { return nil }
        return InspectionReport(parsing: bytes)
    }

    @Test func aPassIsAnsweredWithHowTheRequestArrived() async throws {
        let names = Inspection.cookieNames(of: site.configuration)
        let fields: HTTPFields = [
            Inspection.field: pass(), .cookie: "other=1; " + Inspection.cookieField(of: site.configuration),
            try #require(HTTPField.Name("X-Forwarded-For")): "192.0.2.1",
        ]
        let response = await site.send(.post, "/anything", fields, body: "12345", trusted: true)
        let report = try #require(parsed(response))
        #expect(response.status == .ok)
        #expect(report.method == "POST" && report.path == "/anything" && report.content == 5)
        #expect(report.client == "10.0.0.1" && report.isFromTrustedProxy && report.forwardedFor == ["192.0.2.1"])
        #expect(report.host == "login.example.com")
        #expect(report.cookies == names && names.count == 2)
        #expect(response.fields[values: .setCookie].count == 2)
        #expect(
            report.fields.map { [$0.name, $0.value] }
                == response.fields.map { [$0.name.canonicalName, $0.value] })
        // Of the pass there is no word, and of the request what is written of every one.
        #expect(site.log.lines.filter { !$0.hasPrefix("info request ") }.isEmpty)
    }

    /// The probes have the same attributes as the real cookies, with other names.
    @Test func theProbeCookiesHaveTheAttributesOfTheRealOnes() async throws {
        let login = await site.get("/login")
        let binding = try #require(login.fields[values: .setCookie].first)
        let probe = try #require((await site.get("/", [Inspection.field: pass()])).fields[values: .setCookie].first)
        func attributes(_ cookie: String) -> [Substring] { cookie.split(separator: ";").dropFirst().sorted() }
        #expect(attributes(binding) == attributes(probe))
        #expect(!binding.hasPrefix("__Host-bramley-doctor"))
    }

    @Test(arguments: [
        "session=1", "__Host-bramley-doctor=else", "__Host-bramley-doctor=doctor; __Host-bramley-doctor=doctor",
    ])
    func aCookieThatDidNotArriveWholeIsNotReported(cookie: String) async throws {
        let response = await site.get("/login", [Inspection.field: pass(), .cookie: cookie])
        #expect(try #require(parsed(response)).cookies == [])
    }

    /// Whoever has no pass meets the site as it is, whatever they send in its place.
    @Test func withoutAPassNothingIsDifferent() async throws {
        let stranger = SealingKeyring(current: SealingKey(material: SecretBytes([UInt8](repeating: 8, count: 32))))
        let good = pass()
        let forgeries = [
            "", "x", pass(with: stranger), String(good.dropLast()), good + "A", good + "=", " ",
            String(good.reversed()), String(repeating: "A", count: 100_000),
            // Sealed by the same key for something else.
            Base64URL.encode(site.keyring.seal([UInt8](repeating: 0, count: 8), purpose: .refreshToken)),
            Base64URL.encode(site.keyring.seal([UInt8](repeating: 0, count: 8), purpose: .other("kept-name"))),
        ]
        for forgery in forgeries {
            let response = await site.get("/nowhere", [Inspection.field: forgery])
            #expect(response.status == .notFound, "\(forgery.prefix(80))")
            #expect(parsed(response) == nil)
        }
        var twice: HTTPFields = [Inspection.field: good]
        twice.append(HTTPField(name: Inspection.field, value: good))
        #expect(await site.get("/nowhere", twice).status == .notFound)
    }

    @Test(arguments: [
        (-InspectionPass.lifetime - 1, false), (-InspectionPass.lifetime, true), (0, true),
        (InspectionPass.lifetime, true), (InspectionPass.lifetime + 1, false),
    ])
    func aPassIsGoodForMinutes(age: Int64, isGood: Bool) async {
        let response = await site.get("/nowhere", [Inspection.field: pass(after: age)])
        #expect((response.status == .ok) == isGood)
    }

    private func traffic() async throws -> InspectionReport.Traffic {
        try #require(parsed(await site.get("/login", [Inspection.field: pass()]))).traffic
    }

    @Test func signInPagesCountTheirVisitors() async throws {
        #expect(try await traffic() == InspectionReport.Traffic(requests: 0, onlyAddress: nil))
        for _ in 0..<3 { _ = await site.send(.get, "/login", client: .v4(0x0A00_0002)) }
        // Applications and probes are not visitors, and come from other addresses.
        _ = await site.send(.get, "/api/v1/session", client: .v4(0x0A00_0003))
        _ = await site.send(.get, "/auth/verify", client: .v4(0x0A00_0004))
        #expect(try await traffic() == InspectionReport.Traffic(requests: 3, onlyAddress: "10.0.0.2"))
        // The hour before still counts, the one before that no more.
        site.clock.advance(seconds: 3600)
        #expect(try await traffic() == InspectionReport.Traffic(requests: 3, onlyAddress: "10.0.0.2"))
        _ = await site.send(.get, "/login/attempt", client: .v4(0x0A00_0005))
        #expect(try await traffic() == InspectionReport.Traffic(requests: 4, onlyAddress: nil))
        site.clock.advance(seconds: 3600)
        #expect(try await traffic() == InspectionReport.Traffic(requests: 1, onlyAddress: "10.0.0.5"))
        site.clock.advance(seconds: 7200)
        #expect(try await traffic() == InspectionReport.Traffic(requests: 0, onlyAddress: nil))
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "<html>", "{\"method\":1}",
        "{\"method\":\"GET\",\"path\":\"/\",\"content\":0,\"client\":\"\",\"isFromTrustedProxy\":false}",
    ])
    func reportOfAnotherServerIsIgnored(text: String) {
        #expect(InspectionReport(parsing: Array(text.utf8)) == nil)
    }
}
