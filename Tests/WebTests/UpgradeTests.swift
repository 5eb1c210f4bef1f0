import Coding
import HTTP
import HTTPTypes
import MemoryStores
import RelyingParty
import Sockets
import Storage
import Synchronization
import Testing
import Web

/// Passwords that Apple replaces, by API and by page.
@Suite struct UpgradeTests {
    private let path = "/api/v1/upgrades"

    private func start(_ site: LinkSite, _ name: String = "ada") async throws -> (
        id: String, token: String, nonce: String
    ) {
        let answer = await site.json(path, #"{"username":"\#(name)","password":"correct horse"}"#)
        let object = try #require(answer.json)
        return (
            try #require(object["id"]?.stringValue), try #require(object["upgradeToken"]?.stringValue),
            object["nonce"]?.stringValue ?? ""
        )
    }

    @Test("From an app: password, Apple, success last; the same request the same session")
    func app() async throws {
        let site = try LinkSite()
        let answer = await site.json(path, #"{"username":"ada","password":"correct horse"}"#)
        #expect(answer.status == .ok)
        let object = try #require(answer.json)
        #expect(object.members.map(\.name) == ["result", "id", "upgradeToken", "nonce", "expiresAt"])
        let (id, token) = (object["id"]?.stringValue ?? "", object["upgradeToken"]?.stringValue ?? "")
        let body = site.authorization("ada.sub", object["nonce"]?.stringValue ?? "")
        let bearer: HTTPFields = [.authorization: "Bearer \(token)"]
        #expect(site.verifier.state.withLock { $0.conversions.isEmpty })
        let done = await site.json("\(path)/\(id)/complete", body, bearer)
        #expect(done.status == .ok)
        #expect(done.json?.members.map(\.name) == ["result", "token", "user", "session"])
        let session = try #require(done.json?["token"]?.stringValue)
        #expect(site.verifier.state.withLock { $0.converted } == ["ada"])
        #expect(await site.json("\(path)/\(id)/complete", body, bearer).json?["token"]?.stringValue == session)
        #expect(await site.get("/api/v1/session", [.authorization: "Bearer \(session)"]).status == .ok)
        // The password is gone.
        #expect(
            await site.json(path, #"{"username":"ada","password":"correct horse"}"#).text == #"{"result":"failure"}"#)
    }

    @Test("The second factor stands before Apple, five times")
    func secondFactor() async throws {
        let site = try LinkSite()
        let answer = await site.json(path, #"{"username":"bob","password":"correct horse"}"#)
        #expect(answer.json?.members.map(\.name) == ["result", "id", "upgradeToken", "methods", "expiresAt"])
        #expect(answer.json?["result"]?.stringValue == "twoFactorAuthRequired")
        let (id, token, _) = try await start(site, "bob")
        let bearer: HTTPFields = [.authorization: "Bearer \(token)"]
        let early = await site.json("\(path)/\(id)/complete", site.authorization("bob.sub", "n"), bearer)
        #expect(early.code == "second_factor_required")
        #expect(
            await site.json("\(path)/\(id)/second-factor", #"{"code":"000000"}"#, bearer).text
                == #"{"result":"failure"}"#)
        let passed = await site.json("\(path)/\(id)/second-factor", #"{"code":"123456"}"#, bearer)
        #expect(passed.json?["result"]?.stringValue == "success")
        let nonce = passed.json?["nonce"]?.stringValue ?? ""
        #expect(await site.json("\(path)/\(id)/complete", site.authorization("bob.sub", nonce), bearer).status == .ok)

        site.verifier.state.withLock { $0.converted = [] }
        let (third, key, _) = try await start(site, "bob")
        let credential: HTTPFields = [.authorization: "Bearer \(key)"]
        for _ in 0..<5 {
            #expect(await site.json("\(path)/\(third)/second-factor", #"{"code":"0"}"#, credential).status == .ok)
        }
        let ended = await site.json("\(path)/\(third)/second-factor", #"{"code":"123456"}"#, credential)
        #expect(ended.status == .forbidden && ended.code == "upgrade_ended")
    }

    @Test("Nobody, a wrong password and a password that cannot be are answered alike")
    func failures() async throws {
        let site = try LinkSite()
        var answers: Set<String> = []
        for (name, password) in [("ada", "wrong"), ("nobody", "correct horse"), ("nobody", "x")] {
            let answer = await site.json(path, #"{"username":"\#(name)","password":"\#(password)"}"#)
            // The ID of the request, in both, tells them apart and nothing else.
            let id = try #require(answer.fields[RequestID.field])
            answers.insert("\(answer.status) \(answer.text) \(answer.fields)".replacing(id, with: ""))
        }
        #expect(answers.count == 1)
    }

    @Test(
        "The password reaches the verifier as it was typed",
        arguments: [
            (#""plain""#, "plain"), (#""a\u0062\n\"\\\/""#, "ab\n\"\\/"), (#""\ud83c\udf4f""#, "🍏"), (#""🍏é""#, "🍏é"),
            (#"" , \"username\":\"x\" ""#, #" , "username":"x" "#), (#""\\""#, "\\"), (#""}{][""#, "}{]["),
        ])
    func passwords(text: String, password: String) async throws {
        let site = try LinkSite()
        for body in [
            #"{"username":"ada","password":\#(text)}"#, #" { "password" : \#(text) , "username" : "ada" } "#,
        ] {
            #expect(await site.json(path, body).text == #"{"result":"failure"}"#)
        }
        let page = await site.upgrade("ada", password)
        #expect(page.status == .unprocessableContent)
        #expect(site.verifier.state.withLock { $0.passwords } == Array(repeating: Array(password.utf8), count: 3))
    }

    @Test(
        "What is no such request asks nobody",
        arguments: [
            "", "[]", "{", "{}", #"{"username":"ada"}"#, #"{"password":"x"}"#, #"{"username":"ada","password":""}"#,
            #"{"username":"ada","password":null}"#, #"{"username":"ada","password":7}"#,
            #"{"username":"ada","password":{"password":"x"}}"#, #"{"username":"ada","password":"x","password":"y"}"#,
            #"{"username":"ada","pass\u0077ord":"x"}"#, #"{"username":"ada","password":"x","otp":"1"}"#,
            #"{"username":"ada","password":"\x"}"#, #"{"username":"ada","password":"\ud800"}"#,
            #"{"username":"ada","password":"\ud800\u0041"}"#, #"{"username":"ada","password":"\u12"}"#,
            "{\"username\":\"ada\",\"password\":\"\n\"}", #"{"username":"ada","password":"x"} x"#,
            #"{"username":"ada","password":"x"#, #"{"username":"ada","password""x"}"#,
            #"[{"username":"ada","password":"x"}]"#, #"{"username":{"password":"x"},"password":"x"}"#,
        ])
    func refusals(_ body: String) async throws {
        let site = try LinkSite()
        let response = await site.json(path, body)
        #expect(response.status == .badRequest && response.code == "invalid_request")
        #expect(site.verifier.state.withLock { $0.passwords.isEmpty })
    }

    @Test("Content of another type, too much of it, and bytes that are no text")
    func contents() async throws {
        let site = try LinkSite()
        let form = await site.post(path, form: [("username", "ada"), ("password", "x")], [:])
        #expect(form.code == "unsupported_media_type")
        let long = String(repeating: "x", count: 20_000)
        #expect(await site.json(path, #"{"username":"ada","password":"\#(long)"}"#).code == "content_too_large")
        let edge = String(repeating: "x", count: 1_025)
        #expect(await site.json(path, #"{"username":"ada","password":"\#(edge)"}"#).code == "invalid_request")
        #expect(await site.json(path, #"{"username":"ada","password":"\#(edge.dropLast())"}"#).status == .ok)
        let noText = await site.send(.post, "/upgrade", site.browser(), body: "username=ada&password=%ff")
        // In words, not in the names of words.
        #expect(noText.status == .badRequest && !noText.text.contains("errors."))
        #expect(
            await site.send(.post, "/upgrade", site.browser(), body: "username=ada&password=a&p%61ssword=b").status
                == .badRequest)
    }

    @Test("The verifier down is 503, and so says the form; a conversion without an answer is 502 and goes on")
    func down() async throws {
        let site = try LinkSite()
        site.verifier.state.withLock { $0.failure = .unavailable("x") }
        let answer = await site.json(path, #"{"username":"ada","password":"correct horse"}"#)
        #expect(answer.status == .serviceUnavailable && answer.code == "verifier_unavailable")
        #expect(answer.fields[.retryAfter] != nil)
        let page = await site.upgrade()
        #expect(page.status == .serviceUnavailable && page.fields[.retryAfter] != nil)
        #expect(page.text.contains("<form method=\"post\" action=\"/upgrade\">"))
        site.verifier.state.withLock { ($0.failure, $0.conversionFailure) = (nil, .unavailable("y")) }
        let (id, token, nonce) = try await start(site)
        let bearer: HTTPFields = [.authorization: "Bearer \(token)"]
        let body = site.authorization("ada.sub", nonce)
        let waiting = await site.json("\(path)/\(id)/complete", body, bearer)
        #expect(waiting.status == .badGateway && waiting.code == "conversion-failed")
        #expect(waiting.fields[.retryAfter] != nil)
        // Apple opens the account already.
        #expect(waiting.json?["title"]?.stringValue == "Almost finished")
        site.verifier.state.withLock { $0.conversionFailure = nil }
        site.clock.advance(seconds: 60)
        #expect(await site.json("\(path)/\(id)/complete", body, bearer).status == .ok)
        site.clock.advance(seconds: 600)
        let late = await site.json("\(path)/\(id)/complete", body, bearer)
        #expect(late.status == .gone && late.code == "link_completed")
        #expect(late.json?["title"]?.stringValue == "Your account uses Apple now")
    }

    @Test("A refused conversion is 502, and changes nothing")
    func refused() async throws {
        let site = try LinkSite()
        site.verifier.state.withLock { $0.refuses = true }
        let (id, token, nonce) = try await start(site)
        let answer = await site.json(
            "\(path)/\(id)/complete", site.authorization("ada.sub", nonce), [.authorization: "Bearer \(token)"])
        #expect(answer.status == .badGateway && answer.code == "conversion-failed")
        #expect(answer.fields[.retryAfter] == nil)
        #expect(try await site.database.user(externalID: "ada") == nil)
    }

    @Test("Addresses and accounts are held to a number of tries, by API and page together")
    func limits() async throws {
        let site = try LinkSite(adjust: { $0.limits.upgradesPerMinute = 3 })
        _ = await site.json(path, #"{"username":"ada","password":"x"}"#)
        _ = await site.upgrade("ada", "x")
        _ = await site.json("\(path)/upg_x/second-factor", "{}")
        let api = await site.json(path, #"{"username":"ada","password":"x"}"#)
        #expect(api.status == .tooManyRequests && api.fields[.retryAfter] != nil)
        let page = await site.upgrade("ada", "x")
        #expect(page.status == .tooManyRequests && page.fields[.retryAfter] != nil)
        #expect(page.text.contains("There were too many attempts."))
        #expect(site.verifier.state.withLock { $0.passwords.count } == 2)

        let other = try LinkSite(upgradesPerAccount: 2)
        for name in ["nobody", "ada"] {
            for _ in 0..<2 { #expect(await other.upgrade(name, "x").status == .unprocessableContent) }
            let held = await other.upgrade(name, "correct horse")
            #expect(held.status == .tooManyRequests)
            #expect(held.text.contains("15 minutes"))
            let api = await other.json(path, #"{"username":"\#(name)","password":"correct horse"}"#)
            #expect(api.code == "too_many_requests")
        }
    }

    // MARK: Pages

    @Test("In a browser: the form, Apple's button, a session")
    func page() async throws {
        let site = try LinkSite()
        let form = await site.get("/upgrade?return_to=https://app.example.com/x%26y", site.browser())
        #expect(form.status == .ok && form.fields[.cacheControl] == "no-store")
        for attribute in ["username", "current-password"] {
            #expect(form.text.contains("autocomplete=\"\(attribute)\""))
        }
        #expect(form.fields[.referrerPolicy] == "same-origin")
        let target = try #require(form.hidden("return_to"))
        #expect(target == "https://app.example.com/x&amp;y")
        let proven = await site.upgrade("ada", "correct horse", [("return_to", "https://app.example.com/x&y")])
        #expect(proven.status == .ok)
        #expect(proven.text.contains("Your password was right."))
        #expect(!proven.text.contains("correct horse") && !proven.text.contains("bru_"))
        #expect(proven.text.contains("href=\"https://appleid.apple.com/auth/authorize?state="))
        #expect(!proven.text.contains("data-attempt-url"))
        #expect(proven.policy.contains("script-src 'nonce-"))
        let done = try await site.callback(proven, subject: "ada.sub")
        #expect(done.status == .seeOther && done.location == "https://app.example.com/x&y")
        #expect(done.setCookies.contains { $0.hasPrefix("__Host-bramley=brs_") })
        #expect(site.verifier.state.withLock { $0.converted } == ["ada"])
    }

    @Test("In a browser with a second factor, wrong twice")
    func pageWithCode() async throws {
        let site = try LinkSite()
        let asked = await site.upgrade("bob", "correct horse", [("return_to", "/x")])
        #expect(asked.text.contains("autocomplete=\"one-time-code\""))
        #expect(asked.text.contains("from your authenticator app") && asked.text.contains("Pigeon &lt;b&gt;"))
        let fields = try ["id", "token", "return_to"].map { ($0, try #require(asked.hidden($0))) }
        func code(_ code: String) async -> ServerResponse {
            await site.post("/upgrade/second-factor", form: fields + [("code", code)], site.browser())
        }
        for wrong in ["", "000 000"] {
            let again = await code(wrong)
            #expect(again.status == .unprocessableContent)
            #expect(again.hidden("token") == fields[1].1)
            #expect(again.text.contains("from your authenticator app"))
        }
        let proven = await code(" 123 456 ")
        let done = try await site.callback(proven, subject: "bob.sub")
        #expect(done.location == "/x")
        #expect(site.verifier.state.withLock { $0.converted } == ["bob"])
    }

    @Test("Too many codes end the upgrade, with a page that begins anew")
    func tooManyCodes() async throws {
        let site = try LinkSite()
        let asked = await site.upgrade("bob")
        let fields = try ["id", "token"].map { ($0, try #require(asked.hidden($0))) }
        for _ in 0..<5 { _ = await site.post("/upgrade/second-factor", form: fields + [("code", "1")], site.browser()) }
        let ended = await site.post("/upgrade/second-factor", form: fields + [("code", "123456")], site.browser())
        #expect(ended.status == .forbidden)
        #expect(ended.text.contains("href=\"/upgrade?return_to=%2Faccount\""))
        let stolen = await site.post(
            "/upgrade/second-factor",
            form: [fields[0], ("token", "bru_" + String(repeating: "A", count: 43)), ("code", "123456")], site.browser()
        )
        #expect(stolen.status == .notFound)
    }

    @Test("A wrong password shows the form again with the name, and never the password")
    func wrongPassword() async throws {
        let site = try LinkSite()
        for (name, password, status) in [
            ("ada<\"", "hunter2 & co", HTTPResponse.Status.unprocessableContent),
            ("", "hunter2 & co", .unprocessableContent),
            ("ada", "", .unprocessableContent),
            (String(repeating: "a", count: 400), "hunter2 & co", .unprocessableContent),
        ] {
            let page = await site.upgrade(name, password)
            #expect(page.status == status)
            #expect(!page.text.contains("hunter2"))
            #expect(page.text.contains("role=\"alert\""))
            if name.hasPrefix("ada<") { #expect(page.text.contains("value=\"ada&lt;&quot;\"")) }
        }
    }

    @Test("Apple's answers that change nothing have pages with a way on")
    func applePages() async throws {
        let site = try LinkSite()
        let cancelled = try await site.callback(await site.upgrade(), error: "user_cancelled_authorize")
        #expect(cancelled.status == .badRequest)
        #expect(cancelled.text.contains("href=\"/upgrade?return_to=%2Faccount\""))
        site.verifier.state.withLock { $0.conversionFailure = .unavailable("x") }
        let pending = try await site.callback(await site.upgrade(), subject: "ada.sub")
        #expect(pending.status == .badGateway && pending.fields[.retryAfter] != nil)
        #expect(pending.text.contains("Almost finished"))
        #expect(pending.text.contains("href=\"/login?return_to=%2Faccount\""))
        let second = try await site.callback(await site.upgrade(), subject: "eve.sub", code: "c2")
        #expect(second.status == .conflict && second.text.contains("Already connected"))
        let refusing = try LinkSite()
        refusing.verifier.state.withLock { $0.refuses = true }
        let refused = try await refusing.callback(await refusing.upgrade(), subject: "ada.sub")
        #expect(refused.status == .badGateway && refused.text.contains("Your account was not changed"))
        #expect(refused.text.contains("class=\"error-id\""))
    }

    @Test("Posts of other sites do nothing, whatever cookies they bring")
    func crossSite() async throws {
        let site = try LinkSite(asksExisting: true)
        let link = try await site.link(key: try await site.key())
        for path in ["/upgrade", "/upgrade/second-factor", link.page, "/login/existing"] {
            for (name, value) in [
                (HTTPField.Name.secFetchSite, "cross-site"), (.secFetchSite, "same-site"), (.secFetchSite, "none"),
                (.origin, "https://evil.example"), (.origin, "null"),
            ] {
                var fields = site.browser()
                fields[.secFetchSite] = nil
                fields[name] = value
                let response = await site.post(
                    path, form: [("username", "ada"), ("password", "correct horse")], fields)
                #expect(response.status == .forbidden, "\(path) \(name) \(value)")
            }
        }
        #expect(site.verifier.state.withLock { $0.passwords.isEmpty })
    }

    @Test func changePassword() async throws {
        let site = try LinkSite()
        let response = await site.get("/.well-known/change-password")
        #expect(response.status == .seeOther && response.location == "/upgrade")
        let off = try LinkSite(adjust: { $0.linking.changePassword = false })
        #expect(await off.get("/.well-known/change-password").status == .notFound)
    }

    @Test("The password is in no log, no answer and no file")
    func nowhere() async throws {
        let site = try LinkSite()
        let secret = "s3cret-Passw0rd-of-nobody"
        var texts = [await site.json(path, #"{"username":"ada","password":"\#(secret)"}"#).text]
        texts.append(await site.upgrade("ada", secret).text)
        texts.append(await site.json(path, #"{"username":"ada","password":"\#(secret)"} x"#).text)
        texts.append(await site.json(path, #"{"user":"ada","password":"\#(secret)"}"#).text)
        site.verifier.state.withLock { $0.failure = .unavailable("down") }
        texts.append(await site.json(path, #"{"username":"ada","password":"\#(secret)"}"#).text)
        texts += site.log.all
        #expect(site.verifier.state.withLock { $0.passwords.count } == 3)
        #expect(!texts.contains { $0.contains(secret) })
        #expect(!site.files.isEmpty)
        for file in site.files { #expect(file.ranges(of: Array(secret.utf8)).isEmpty) }
    }
}
