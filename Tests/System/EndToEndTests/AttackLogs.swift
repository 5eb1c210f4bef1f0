import AppleSimulator
import Certificates
import Coding
import Foundation
import IndependentSigning
import Testing

@Suite struct LogsUnderAttack {
    @Test func noSecretIsEverLogged() async throws {
        try await withSite { (site: Site) async throws in
            var secrets: Set<String> = []
            func keep(_ form: Form) {
                for name in ["state", "code", "id_token", "user"] {
                    if let value = form[name] { secrets.insert(value) }
                }
                for part in (form["id_token"] ?? "").split(separator: ".") { secrets.insert(String(part)) }
            }
            func keep(_ browser: Browser) {
                for value in [browser.binding, browser.sessionToken] { if let value { secrets.insert(value) } }
            }

            // Everybody signs in, is recognised, and some leave.
            for person in ["ada", "boris", "chie", "dana", "erin"] {
                let browser = site.browser()
                let url = try await browser.begin()
                secrets.insert(Query(url: url)["nonce"] ?? "-")
                let form = try await site.apple.authorize(url, as: person)
                keep(form)
                try await browser.postCallback(form)
                keep(browser)
                let session = try await browser.session()
                for member in ["email", "appleSubject"] {
                    if let text = session?["user"]?[member]?.stringValue { secrets.insert(text) }
                }
                try await browser.verify()
                try await browser.verify([("Connection", "close")])
                try await browser.verify([("Authorization", "Bearer \(browser.sessionToken ?? "")")])
                try await browser.get("/account?token=\(browser.sessionToken ?? "")")
                try await browser.postCallback(form)
                try await site.browser().postCallback(form)
                if person == "chie" { try await browser.post("/logout") }
            }

            // Every way of failing.
            let (failing, form) = try await site.consent()
            keep(form)
            for (name, value) in [
                ("code", "stolen-code-0123456789"), ("id_token", (form["id_token"] ?? "") + "x"),
                ("state", (form["state"] ?? "") + "x"),
                ("error", "error-text"), ("id_token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."),
            ] { try await failing.elsewhere().postCallback(form.setting(name, value)) }
            let faults: [JSON] = [
                ["error": "invalid_grant"], ["error": "invalid_client"], ["status": 500, "body": "html"],
                ["body": "garbage"],
                ["close": "half"], ["status": 400, "body": "empty"],
            ]
            for fault in faults {
                try await site.apple.control("PUT", "faults/token", fault)
                let again = try await failing.consent()
                keep(again)
                try await failing.elsewhere().postCallback(again)
            }
            try await site.apple.control("DELETE", "faults")
            for flaw in ["sub", "nonce", "atHash", "signature"] {
                try await site.apple.control("PUT", "tokens", ["on": "token", "wrong": [.string(flaw)]])
                let again = try await failing.elsewhere().consent()
                keep(again)
                try await failing.elsewhere().postCallback(again)
            }
            try await site.apple.control("DELETE", "tokens")

            // Notifications, good, bad and about nobody.
            for (type, person) in [
                ("email-disabled", "boris"), ("consent-revoked", "ada"), ("account-delete", "dana"), ("new", "ada"),
            ] {
                let body = try await site.apple.notification(type, about: person)
                secrets.insert(JSON(parsing: body)?["payload"]?.stringValue ?? "-")
                for bytes in [
                    body, Array(body.dropLast(9)),
                    Array(String(decoding: body, as: UTF8.self).replacingOccurrences(of: "a", with: "b").utf8),
                ] {
                    try await site.browser().send(
                        WireRequest(method: "POST", target: "/apple/notifications", body: bytes, context: .program))
                }
            }
            try await site.restart()

            let log = site.log.text
            #expect(log.contains("signed in"))
            #expect(log.contains("invalid_state") || log.contains("wrong_browser"))
            secrets.remove("")
            #expect(secrets.count > 30)
            for secret in secrets where secret.utf8.count >= 8 {
                #expect(!log.contains(secret), "\(secret.prefix(24))…")
            }
            // Any token of ours or of Apple's at all: ours have a prefix, a JWT begins so, the simulator's hold this.
            for mark in [
                "brs_", "brk_", "eyJ", ".0.sim.", "BEGIN PRIVATE", "client_secret", "@example.", "@privaterelay",
                "@school.",
            ] {
                #expect(!log.contains(mark), "\(mark)")
            }
            // Nor anything of the key, or of the sealing key.
            let sealing =
                FileManager.default.contents(atPath: site.directory + "/data/sealing.key").map {
                    String(decoding: $0, as: UTF8.self)
                } ?? ""
            #expect(sealing.utf8.count >= 64)
            #expect(!log.contains(sealing.prefix(16)))
            for line in TestKeys.first.split(separator: "\n").dropFirst().dropLast() {
                #expect(!log.contains(line.suffix(20)))
            }
        }
    }

    @Test func nothingAPeerSendsBreaksALine() async throws {
        try await withSite { (site: Site) async throws in
            let hostile = "x\r\n{\"level\":\"critical\"}\u{1b}[31m\u{0}\u{85}\u{2028}\u{202e}\u{7f}"
            let browser = site.browser()
            let state = Query(url: try await browser.begin())["state"]
            try await browser.postCallback(Form([("state", state ?? ""), ("error", hostile)]))
            try await browser.postCallback(Form([(hostile, hostile)]))
            try await browser.get("/" + Form.escape(hostile), [("User-Agent", "x\u{1b}[31m")])
            try await browser.get("/login?return_to=" + Form.escape(hostile))
            try await site.apple.control(
                "PUT", "faults/token",
                [
                    "status": 400,
                    "body": ["text": "{\"error\":\"invalid_grant\",\"error_description\":\"a\\r\\nb\\u001b[31m\"}"],
                ])
            try await browser.postCallback(browser.consent())
            try await site.publishSignersKeys()
            let signer = IndependentSigner.shared
            let header: JSON = ["alg": "RS256", "kid": .string(hostile)]
            let token = try await signer.sign(header: header.text, payload: "{}")
            try await browser.postCallback(browser.consent().setting("id_token", token))
            let claims: JSON = [
                "iss": .string(Apple.issuer), "aud": .string(Apple.bundleID), "jti": "j",
                "iat": .integer(site.clock.seconds),
                "exp": .integer(site.clock.seconds + 60), "events": ["type": .string(hostile), "event_time": 1],
            ]
            let notification: JSON = [
                "payload": .string(
                    try await signer.sign(header: IdentityTokenValidation.soundHeader.text, payload: claims.text))
            ]
            try await browser.send(
                WireRequest(method: "POST", target: "/apple/notifications", body: notification.bytes, context: .program)
            )
            #expect(site.log.lines.count > 5)
            for line in site.log.lines {
                #expect(line.hasSuffix("}\n"))
                for scalar in line.dropLast().unicodeScalars {
                    #expect(!scalar.properties.isBidiControl && scalar.properties.generalCategory != .control)
                }
                // Each line is one JSON object, and no peer wrote its level.
                let json = try #require(JSON(parsing: Array(line.utf8)))
                #expect(json["level"]?.stringValue != "critical")
            }
        }
    }
}
