import AppleSimulator
import Coding
import HTTPTypes
import Testing

@Suite struct ControlTests {
    private let fixture = Fixture()

    @Test func peopleAndTheirStateAreListed() async throws {
        _ = try await fixture.exchange(try await fixture.code())
        let items = try await fixture.control(.get, "people").json["items"]?.arrayValue ?? []
        #expect(items.compactMap { $0["id"]?.stringValue } == ["ada", "boris", "chie", "dana", "erin"])
        let team = items.first?["teams"]?.arrayValue?.first
        #expect(team?["consented"] == true && team?["refreshTokens"] == 1 && team?["email"] == "ada@example.com")
        #expect(items.last?["teams"]?.arrayValue?.first?["consented"] == false)
    }

    @Test func peopleCanBeAddedAndChanged() async throws {
        try await fixture.control(
            .post, "people", ["id": "zoe", "givenName": "Zoë", "email": "zoe@example.com", "emailVerified": false])
        #expect(try await fixture.claims("zoe")["email_verified"] == false)
        try await fixture.control(.post, "people", ["id": "ada", "email": .null])
        #expect(try await fixture.claims("ada")["email"] == nil)
        #expect(try await fixture.control(.post, "people", ["id": "ada", "odd": 1]).status == 400)
    }

    @Test func clientsCanBeRegistered() async throws {
        try await fixture.control(
            .post, "clients",
            ["id": "com.example.second", "team": "TEAM123456", "redirectURIs": ["https://second.example/cb"]])
        #expect(try await fixture.signIn("ada", [("client_id", "com.example.second")])["code"] != nil)
        let unknownTeam = try await fixture.control(.post, "clients", ["id": "x", "team": "NEW1234567"])
        #expect(unknownTeam.status == 400)
        let withKey: JSON = [
            "id": "x", "team": "NEW1234567", "keyID": "K", "key": .string(ClientSecrets.publicKey),
        ]
        #expect(try await fixture.control(.post, "clients", withKey).json["native"] == true)
    }

    @Test func appsGetWhatTheSystemGivesThem() async throws {
        let asked: JSON = ["person": "boris", "client_id": "com.example.app", "nonce": "n", "state": "s"]
        let first = try await fixture.control(.post, "native", asked).json
        let claims = JSON.token(first["identityToken"]?.stringValue).claims
        #expect(claims["aud"] == "com.example.app" && claims["nonce"] == "n" && claims["real_user_status"] == 2)
        #expect(claims["c_hash"] != nil && first["authorizationCode"] != nil && first["state"] == "s")
        #expect(first["fullName"] == ["givenName": "Boris", "familyName": "Novák"])
        let second = try await fixture.control(.post, "native", asked).json
        #expect(second["fullName"] == nil && second["email"] == nil)
        #expect(JSON.token(second["identityToken"]?.stringValue).claims["real_user_status"] == nil)
        for wrong in [
            ["person": "ada", "client_id": "com.example.web"], ["person": "ada"],
            ["person": "ada", "client_id": "com.example.app", "redirect_uri": "x"],
        ] as [JSON] {
            #expect(try await fixture.control(.post, "native", wrong).status != 200)
        }
    }

    @Test func requestsAreCounted() async throws {
        _ = try await fixture.get("/auth/keys")
        _ = try await fixture.get("/auth/keys")
        _ = try await fixture.exchange("garbage")
        let counters = try await fixture.control(.get, "counters").json
        #expect(counters["keys"] == ["requests": 2, "statuses": ["200": 2]])
        #expect(counters["token"] == ["requests": 1, "statuses": ["400": 1]])
        try await fixture.control(.delete, "counters")
        #expect(try await fixture.control(.get, "counters").json["keys"]?["requests"] == 0)
    }

    @Test func resetForgetsEverythingButTheKeys() async throws {
        _ = try await fixture.signIn()
        try await fixture.control(.put, "keys", ["mode": "empty"])
        try await fixture.control(.put, "clock", ["offset": 100])
        try await fixture.control(.put, "tokens", ["wrong": ["iss"]])
        let before = try await fixture.control(.get, "keys").json["kids"]
        try await fixture.control(.post, "reset")
        let state = try await fixture.control(.get, "state").json
        #expect(state["keys"]?["kids"] == before && state["keys"]?["mode"] == "normal")
        #expect(state["clockOffset"] == 0 && state["tokens"]?["wrong"] == [])
        #expect(try await fixture.signIn()["user"] != nil)
    }

    @Test func anyTokenCanBeMinted() async throws {
        let token = try await fixture.control(
            .post, "mint", ["claims": ["sub": "x"], "header": ["typ": "JOSE", "kid": .null]]
        ).json["token"]?.stringValue
        let (header, claims) = JSON.token(token)
        #expect(header == ["alg": "RS256", "typ": "JOSE"] && claims == ["sub": "x"])
        #expect(try await fixture.control(.post, "mint", ["claims": [:], "kid": "unknown"]).status == 404)
    }

    @Test func otherSitesUnknownOperationsAndBodiesAreRefused() async throws {
        let fields: HTTPFields = [try #require(HTTPField.Name("Sec-Fetch-Site")): "cross-site"]
        #expect(try await fixture.send(.post, "/simulator/api/reset", fields).status == 403)
        #expect(try await fixture.control(.get, "nothing").status == 404)
        #expect(try await fixture.send(.put, "/simulator/api/clock", body: Array("[1".utf8)).status == 400)
        #expect(try await fixture.get("/nothing").status == 404)
    }

    @Test(arguments: [
        ("/simulator", "text/html;charset=UTF-8"), ("/simulator/assets/control.js", "text/javascript;charset=UTF-8"),
        ("/simulator/assets/deliver.js", "text/javascript;charset=UTF-8"),
        ("/simulator/assets/simulator.css", "text/css;charset=UTF-8"),
        ("/appleauth/static/jsapi/appleid/1/en_US/appleid.auth.js", "text/javascript;charset=UTF-8"),
    ])
    func pagesAndFilesAreServed(_ path: String, _ type: String) async throws {
        let answer = try await fixture.get(path)
        #expect(answer.status == 200)
        #expect(answer.fields[.contentType] == type)
        #expect(!answer.body.isEmpty)
    }

    @Test func scriptExistsInApplesLocalesOnly() async throws {
        #expect(try await fixture.get("/appleauth/static/jsapi/appleid/1/de_DE/appleid.auth.js").status == 200)
        #expect(try await fixture.get("/appleauth/static/jsapi/appleid/1/xx_XX/appleid.auth.js").status == 404)
    }
}
