import AppleSimulator
import Coding
import Foundation
import Testing

@testable import Bramley

/// A page of metrics, as somebody reads it who knows the text format and nothing of ours.
struct ScrapedMetrics {
    struct Sample: Hashable {
        var name: String
        var labels: [String: String]
    }

    var kinds: [String: String] = [:]
    var helped: [String] = []
    var samples: [Sample: Double] = [:]

    init(_ text: String) throws {
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: /# TYPE ([a-z0-9_]+) ([a-z]+)/) {
                #expect(kinds.updateValue(String(match.2), forKey: String(match.1)) == nil, "\(line)")
                continue
            }
            if let match = line.wholeMatch(of: /# HELP ([a-z0-9_]+) .+/) {
                helped.append(String(match.1))
                continue
            }
            let match = try #require(line.wholeMatch(of: /([a-z0-9_]+)(?:\{(.*)\})? ([^ ]+)/), "\(line)")
            var labels: [String: String] = [:]
            for pair in String(match.2 ?? "").matches(of: /([a-z]+)="((?:[^"\\]|\\.)*)"/) {
                labels[String(pair.1)] = String(pair.2)
            }
            let sample = Sample(name: String(match.1), labels: labels)
            let value = try #require(Double(match.3.replacing("+Inf", with: "inf")), "\(line)")
            #expect(samples.updateValue(value, forKey: sample) == nil, "twice: \(line)")
        }
    }

    subscript(name: String, labels: [String: String]) -> Double? { samples[Sample(name: name, labels: labels)] }

    subscript(name: String) -> Double? { self[name, [:]] }
}

extension Site {
    func metricsText() async throws -> String {
        let port = adminPort
        return try await blocking {
            let connection = try WireConnection(port: port)
            connection.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let response = try connection.response()
            #expect(response.status == 200)
            #expect(response["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(response["cache-control"] == "no-store")
            return String(decoding: response.body, as: UTF8.self)
        }
    }

    func metrics() async throws -> ScrapedMetrics { try ScrapedMetrics(try await metricsText()) }
}

struct MetricsTests {
    private static let families = Metric.groups.flatMap(\.metrics).map(\.family)

    @Test func printedMetricsAreThoseOfTheTable() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            _ = try await browser.verify()
            _ = try await browser.get("/nothing")
            _ = try await site.metrics()
            let page = try await site.metrics()
            #expect(page.helped == Self.families.map(\.name))
            #expect(page.kinds == Dictionary(uniqueKeysWithValues: Self.families.map { ($0.name, $0.kind.rawValue) }))
            for family in Self.families where family.kind == .counter {
                #expect(family.name.hasSuffix("_total"), "\(family.name)")
            }
            for sample in page.samples.keys {
                let family = Self.families.first { family in
                    let suffixes = family.kind == .histogram ? ["_bucket", "_sum", "_count"] : [""]
                    return suffixes.contains { family.name + $0 == sample.name }
                }
                let found = try #require(family, "\(sample.name)")
                let bounds = sample.name.hasSuffix("_bucket") && found.kind == .histogram ? ["le"] : []
                #expect(Set(sample.labels.keys) == Set(found.labels.map(\.name) + bounds), "\(sample)")
                for label in found.labels where !label.values.isEmpty {
                    #expect(label.values.contains(sample.labels[label.name] ?? "?"), "\(sample)")
                }
            }
        }
    }

    @Test(.onSQLite) func signInsAndRequestsAreCounted() async throws {
        try await withSite { (site: Site) async throws in
            let before = try await site.metrics()
            #expect(before["bramley_sign_ins_total", Self.signedIn] == 0)
            let browser = try await site.signedIn(as: "ada")
            for _ in 0..<5 { #expect(try await browser.verify().status == 204) }
            #expect(try await site.browser().verify().status == 401)
            _ = try await browser.get("/nothing")
            let page = try await site.metrics()
            let verify = ["route": "/auth/verify", "method": "GET"]
            func verified(_ status: String) -> Double? {
                page["bramley_http_requests_total", verify.merging(["status": status]) { $1 }]
            }
            #expect(verified("204") == 5)
            #expect(verified("401") == 1)
            #expect(page["bramley_http_request_duration_seconds_count", ["route": "/auth/verify"]] == 6)
            let unknown = ["route": "other", "method": "GET", "status": "404"]
            #expect(page["bramley_http_requests_total", unknown] == 1)
            #expect(page["bramley_sign_ins_total", Self.signedIn] == 1)
            #expect(page["bramley_apple_requests_total", ["endpoint": "token", "outcome": "success"]] == 1)
            #expect(page["bramley_apple_request_duration_seconds_count", ["endpoint": "token"]] == 1)
            #expect(abs(page["bramley_apple_clock_offset_seconds"] ?? 99) <= 1)
            #expect((page["bramley_store_commit_duration_seconds_count"] ?? 0) >= 2)
            #expect((page["bramley_store_file_bytes", ["file": "wal"]] ?? 0) > 0)
            #expect((page["bramley_connections_accepted_total"] ?? 0) >= 8)
            #expect(page["bramley_ready"] == 1)
            for name in ["process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"] {
                #expect((page["bramley_" + name] ?? 0) > 0, "\(name)")
            }
        }
    }

    private static let signedIn = ["flow": "web", "outcome": "signed_in", "reason": ""]

    @Test func sessionsAndNotificationsAreCounted() async throws {
        try await withSite { (site: Site) async throws in
            try await site.browser().signIn(as: "ada")
            try await site.browser().signIn(as: "boris")
            let junk = WireRequest(method: "POST", target: "/apple/notifications", body: Array("{}".utf8))
            #expect(try await site.browser().send(junk).status == 400)
            let page = try await site.metrics()
            #expect(page["bramley_sessions"] == 2)
            #expect(page["bramley_credentials", ["state": "authorized"]] == 2)
            #expect(page["bramley_credentials", ["state": "revoked"]] == 0)
            let refused = ["type": "unverified", "outcome": "refused"]
            #expect(page["bramley_apple_notifications_total", refused] == 1)
            #expect(page["bramley_credential_checks_due"] == 0)
            #expect(page["bramley_webhooks_waiting"] == 0)
        }
    }

    @Test func failuresHaveTheirReason() async throws {
        try await withSite { (site: Site) async throws in
            let form = Form([("state", "forged"), ("code", "c"), ("id_token", "t")])
            let response = try await site.browser().send(
                .post("/apple/callback", form: form, from: .otherSite("https://appleid.apple.com")))
            #expect(response.status == 400)
            let page = try await site.metrics()
            let failed = ["flow": "web", "outcome": "failed", "reason": "invalid_state"]
            #expect(page["bramley_sign_ins_total", failed] == 1)
        }
    }

    @Test func noRequestAddsASeries() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            /// Twice the same storm, under other names: what the first has made, the second finds.
            func storm(_ salt: String) async throws {
                for round in 0..<20 {
                    let word = "\(salt)\(round)"
                    for method in ["GET", "POST", "DELETE", "OPTIONS", "BREW", "X\(word.uppercased())"] {
                        for path in [
                            "/\(word)", "/api/v1/users/\(word)", "/assets/\(word).css", "/link/\(word)", "/%zz\(word)",
                        ] {
                            _ = try await browser.send(
                                WireRequest(method: method, target: path, fields: [("Host", "\(word).example.com")]))
                        }
                    }
                    _ = try await browser.get("/auth/verify?\(word)", [("X-Forwarded-Host", word)])
                    _ = try await browser.get("/login?return_to=/\(word)", [("User-Agent", word)])
                }
            }
            try await storm("a")
            // A second look, so that the counts are there.
            _ = try await site.metrics()
            let before = try await site.metrics()
            try await storm("b")
            let text = try await site.metricsText()
            let after = try ScrapedMetrics(text)
            #expect(Set(after.samples.keys).subtracting(before.samples.keys) == [])
            #expect(!text.contains("example.com") && !text.contains("BREW") && !text.contains("a1\""))
        }
    }

    @Test func metricsContainNoPersonalData() async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            let session = try #require(try await browser.session())
            _ = try await browser.verify()
            let text = try await site.metricsText()
            let secrets = [
                "ada", "Ada", "example.com", "127.0.0.1", "localhost", "usr_", "ses_", "brs_", "evt_", Apple.servicesID,
                Apple.teamID, Apple.keyID, Apple.bundleID, site.directory,
                try #require(session["user"]?["appleSubject"]?.stringValue),
            ]
            for secret in secrets { #expect(!text.contains(secret), "\(secret)") }
        }
    }
}
