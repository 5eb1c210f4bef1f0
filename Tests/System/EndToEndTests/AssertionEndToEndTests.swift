import AppleSimulator
import ChildProcesses
import Coding
import Foundation
import Storage
import Testing

@testable import Accounts
@testable import Bramley

/// Signed assertions of the running server, as the documented sample and other implementations see them.
@Suite struct AssertionEndToEndTests {
    static let audience = "https://api.example.com"
    static let options = SiteOptions(configuration: [("assertion", ["audience": .string(audience)])])
    static let sample = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/examples/verify-assertion.py")
        .path

    struct Outcome: Sendable {
        var status: Int32
        var output, error: String
        var json: JSON { JSON(parsing: Array(output.utf8)) ?? .null }
    }

    /// Runs a Python program to its end.
    private func python(_ arguments: [String], input: String) async throws -> Outcome {
        let finished = try await blocking {
            try FinishedProgram(running: ["python3", "-B"] + arguments, input: Array(input.utf8))
        }
        return Outcome(status: finished.ending.code, output: finished.outputText, error: finished.errorText)
    }

    private func verify(_ token: String, _ site: Site, audience: String = audience) async throws -> Outcome {
        try await python([Self.sample, site.publicURL, audience], input: token + "\n")
    }

    private func assertion(_ browser: Browser) async throws -> String {
        let response = try await browser.get("/api/v1/session/assertion", from: .sameOrigin)
        #expect(response.status == 200)
        return try #require(JSON(parsing: response.body)?["assertion"]?.stringValue)
    }

    private func keyIDs(_ site: Site) async throws -> [String] {
        let response = try await site.browser().get("/.well-known/jwks.json", from: .program)
        #expect(response.status == 200)
        return JSON(parsing: response.body)?["keys"]?.arrayValue?.compactMap { $0["kid"]?.stringValue } ?? []
    }

    @Test func sampleAcceptsAssertionsFromBothSources() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = try await site.signedIn(as: "ada")
            let session = try #require(try await browser.session())
            let asked = try await browser.verify(query: "?assertion=true")
            #expect(asked.status == 204)
            for token in [try await assertion(browser), try #require(asked["X-Auth-Request-Assertion"])] {
                let ending = try await verify(token, site)
                #expect(ending.status == 0, "\(ending.error)")
                #expect(ending.json["sub"]?.stringValue == session["user"]?["id"]?.stringValue)
                #expect(ending.json["sid"]?.stringValue == session["session"]?["id"]?.stringValue)
                #expect(ending.json["iss"]?.stringValue == site.publicURL)
                #expect(ending.json["email"]?.stringValue == "ada@example.com")
                #expect(ending.json["given_name"]?.stringValue == "Ada")
            }
            #expect(try await browser.verify()["X-Auth-Request-Assertion"] == "")
            #expect(try await site.browser().verify(query: "?assertion=true")["X-Auth-Request-Assertion"] == "")
            for line in site.log.lines { #expect(!line.contains(try await assertion(browser).prefix(20))) }
        }
    }

    @Test func otherTokensAndForgeriesAreRefused() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let (browser, form) = try await site.consent()
            #expect(try await browser.postCallback(form).status == 303)
            let token = try await assertion(browser)
            let notification = try await site.apple.notification("consent-revoked", about: "ada")
            let others: JSON = [
                "Apple's identity token": .string(try #require(form["id_token"])),
                "Apple's notification": .string(try #require(JSON(parsing: notification)?["payload"]?.stringValue)),
                "a session token": .string(try #require(browser.sessionToken)),
                "an unsealed state": .string(try #require(form["state"])),
            ]
            let question: JSON = [
                "sample": .string(Self.sample), "issuer": .string(site.publicURL),
                "audience": .string(Self.audience), "token": .string(token), "others": others,
            ]
            let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "assertion-attacks.py")
            let ending = try await python([script.path], input: question.text)
            #expect(ending.status == 0, "\(ending.error)")
            let results = try #require(ending.json["results"]?.members)
            #expect(results.count > 35)
            for result in results {
                let text = try #require(result.value.stringValue)
                let isGood = result.name.hasPrefix("good")
                #expect(text.hasPrefix(isGood ? "accepted usr_" : "refused: "), "\(result.name): \(text)")
            }
            #expect(ending.json["thumbprints"] == [true])
            #expect(ending.json["private"] == [false])
        }
    }

    /// An assertion lives for five minutes. A slow machine takes some of the half minute itself.
    @Test(
        "A clock difference of half a minute is tolerated, more is not",
        arguments: [(-302, 0), (-345, 1), (20, 0), (60, 1)])
    func expiry(seconds: Int, status: Int) async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            // The server's clock; the sample's is the machine's.
            site.clock.advance(seconds: Int64(seconds))
            let browser = try await site.signedIn()
            let ending = try await verify(try await assertion(browser), site)
            #expect(ending.status == Int32(status), "\(ending.error)")
        }
    }

    @Test func assertionIsRefusedAsAnyOtherToken() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = try await site.signedIn()
            let token = try await assertion(browser)
            let (other, form) = try await site.consent(as: "boris")
            #expect(try await other.postCallback(form.setting("id_token", token)).status == 400)
            #expect(try await other.session() == nil)
            let payload: JSON = ["payload": .string(token)]
            let request = WireRequest(
                method: "POST", target: "/apple/notifications", fields: [("Content-Type", "application/json")],
                body: payload.bytes, context: .program)
            #expect(try await other.send(request).status == 400)
            let bearer = [(name: "Authorization", value: "Bearer " + token)]
            #expect(try await site.browser().get("/api/v1/session", bearer, from: .program).status == 401)
            #expect(try await site.browser().verify(bearer).status == 401)
            other.setCookie(Browser.sessionName, token)
            #expect(try await other.session() == nil)
        }
    }

    /// What `bramley assertion rotate` does, beside the running server; gives the next key's id.
    private func rotate(_ site: Site, revoking: Bool) async throws -> String {
        let place = try OperatorDatabase.open(ConfigurationInput(path: site.directory + "/config.json"))
        defer { place.database.close() }
        return try await AssertionCommand.Rotate.rotate(place, revoking: revoking)[0].keyID
    }

    @Test func theCommandWithoutAnAudienceIsRefused() async throws {
        try await withSite { (site: Site) async throws in
            await #expect(throws: CommandFailure.self) { try await rotate(site, revoking: true) }
            #expect(try await site.count("signing_key") == 0)
        }
    }

    @Test(.onSQLite) func keysSurviveARestart_andANewSealingKey() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let before = try await keyIDs(site)
            #expect(before.count == 1)
            try await site.restart()
            #expect(try await keyIDs(site) == before)
            try await site.stop()
            let (old, new) = (site.directory + "/old.key", site.directory + "/data/sealing.key")
            try FileManager.default.moveItem(atPath: new, toPath: old)
            _ = FileManager.default.createFile(
                atPath: new, contents: Data(String(repeating: "5e", count: 32).utf8),
                attributes: [.posixPermissions: 0o600])
            let secrets: (String, JSON) = ("secrets", ["previousSealingKeyFiles": [.string(old)]])
            try await site.restart(with: Self.options.configuration + [secrets])
            #expect(try await keyIDs(site) == before)
            // Sealed again by the jobs of the start, it does without the old one.
            try await eventually("sealed anew") {
                try await site.query("SELECT substr(hex(sealed_private_key), 3, 8) FROM signing_key").lowercased()
                    == site.query("SELECT CAST(value AS TEXT) FROM meta WHERE key = 'sealing-key-id'")
            }
            try await site.restart(with: Self.options.configuration)
            #expect(try await keyIDs(site) == before)
        }
    }

    @Test func theCommandRevokesInARunningServerWithinASecond() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = try await site.signedIn()
            let token = try await assertion(browser)
            #expect(try await verify(token, site).status == 0)
            let before = try await keyIDs(site)
            let next = try await rotate(site, revoking: true)
            try await eventually(within: .seconds(30), "another key") { try await keyIDs(site) != before }
            let after = try await keyIDs(site)
            #expect(after == [next])
            let ending = try await verify(token, site)
            #expect(ending.status == 1 && ending.error.contains("an unknown key"))
            #expect(try await verify(try await assertion(browser), site).status == 0)
        }
    }

    @Test func rotatingByCommandLosesNothing() async throws {
        try await withSite(Self.options) { (site: Site) async throws in
            let browser = try await site.signedIn()
            let token = try await assertion(browser)
            _ = try await rotate(site, revoking: false)
            try await eventually(within: .seconds(30), "the next key") { try await keyIDs(site).count == 2 }
            #expect(try await verify(token, site).status == 0)
            site.clock.advance(seconds: 240)
            let last = try await assertion(browser)
            #expect(JSON.part(0, of: last)["kid"] == JSON.part(0, of: token)["kid"])
            site.clock.advance(seconds: 400)
            let first = try await assertion(browser)
            #expect(JSON.part(0, of: first)["kid"] != JSON.part(0, of: token)["kid"])
            #expect(try await keyIDs(site).count == 2)
        }
    }
}
