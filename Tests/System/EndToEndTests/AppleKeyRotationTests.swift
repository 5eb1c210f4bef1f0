import AppleSimulator
import Coding
import Foundation
import Testing

/// Apple's own keys change while people sign in, and the set is published in every odd shape.
@Suite struct AppleKeyRotationTests {
    private static func signIn(_ site: Site) async throws -> Int { try await site.browser().signIn().status }

    /// A notification about nobody, signed with the key of this moment.
    private static func notify(_ site: Site) async throws -> Int {
        let body = try await site.apple.notification("email-enabled", about: "chie")
        var request = WireRequest(method: "POST", target: "/apple/notifications", body: body, context: .program)
        request.fields.append(("Content-Type", "application/json"))
        return try await site.browser().send(request).status
    }

    @Test func rotationsInTheMiddleOfTrafficLoseNobody() async throws {
        try await withSite(SiteOptions(loops: 2)) { (site: Site) async throws in
            #expect(try await Self.signIn(site) == 303)
            let fetches = try await site.apple.requests(to: "keys")
            let rounds = 4
            for _ in 0..<rounds {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for number in 0..<12 {
                        if number == 6 { try await site.apple.control("POST", "keys/rotate") }
                        group.addTask { try await Self.signIn(site) }
                        group.addTask { try await Self.notify(site) }
                    }
                    for try await status in group { #expect(status == 303 || status == 200) }
                }
                // Past the minute in which unknown keys cost one fetch.
                site.clock.advance(seconds: 61)
            }
            // One for each new key.
            #expect(try await site.apple.requests(to: "keys") == fetches + rounds)
            // The old ones leave the set at last.
            try await site.apple.control("POST", "keys/rotate", ["dropOld": true])
            #expect(try await Self.signIn(site) == 303)
            #expect(!site.log.text.contains("sign-in refused"))
        }
    }

    /// Unknown keys cost one fetch a minute, also when the second one is Apple's.
    @Test func secondRotationWithinAMinuteSucceedsAfterTheCoolDown() async throws {
        try await withSite { (site: Site) async throws in
            // The first set is had by now, so that the fetch below is for an unknown key, and not the one of the start.
            let early = site.browser()
            #expect(try await early.signIn().status == 303)
            try await site.apple.control("POST", "keys/rotate")
            #expect(try await Self.signIn(site) == 303)
            try await site.apple.control("POST", "keys/rotate")
            let late = site.browser()
            #expect(try await late.postCallback(try await late.consent()).status == 503)
            #expect(try await Self.notify(site) == 503)
            #expect(try await early.verify().status == 204)
            site.clock.advance(seconds: 61)
            #expect(try await Self.signIn(site) == 303)
            #expect(try await Self.notify(site) == 200)
        }
    }

    /// What a server that has never seen a key set makes of each, at the first sign-in.
    private static let coldSets: [(name: String, method: String, path: String, body: JSON, status: Int)] = [
        ("keys of other types beside ours", "PUT", "keys", ["mode": "mixedTypes"], 303),
        ("keys of other types alone", "PUT", "keys", ["mode": "otherTypes"], 503),
        ("no key at all", "PUT", "keys", ["mode": "empty"], 503),
        ("two keys with one kid", "PUT", "keys", ["mode": "duplicateKid"], 503),
        ("the key is not among them", "PUT", "keys", ["mode": "withoutSigningKey"], 400),
    ]

    @Test(arguments: 0..<coldSets.count) func anOddSetAtTheFirstSignIn(number: Int) async throws {
        let set = Self.coldSets[number]
        let stub = StubApple()
        // Nothing listens as Apple until the simulator does, so that no good set was fetched at the start.
        try await stub.serving { origin in
            try await withSite(SiteOptions(appleEndpoint: origin)) { (site: Site) async throws in
                try await site.apple.control(set.method, set.path, set.body)
                try await site.restart(with: [
                    ("apple", ["endpoint": .string(site.apple.origin)])
                ])
                let (browser, form) = try await site.consent()
                #expect(try await browser.postCallback(form).status == set.status, "\(set.name)")
                #expect((try await browser.session() != nil) == (set.status == 303), "\(set.name)")
                // Nothing but a good set is kept. Whoever waited for it does not wait for that.
                if set.status == 503 {
                    #expect(try await site.count("apple_keys") == 0, "\(set.name)")
                } else {
                    try await eventually("the set of \(set.name) is kept") { try await site.count("apple_keys") == 1 }
                }
                try await site.apple.control("PUT", "keys", ["mode": "normal"])
                try await site.apple.control("DELETE", "faults/keys")
                site.clock.advance(seconds: 61)
                #expect(try await Self.signIn(site) == 303, "\(set.name)")
            }
        }
    }

    /// The worst moment for it: a new key signs, and the set that should have it cannot be used.
    @Test(arguments: ["empty", "otherTypes", "duplicateKid"])
    func aRotationIntoAnOddSetHurtsOnlyNewTokens(mode: String) async throws {
        try await withSignedIn { (site: Site, browser: Browser) async throws in
            try await site.apple.control("POST", "keys/rotate")
            try await site.apple.control("PUT", "keys", ["mode": .string(mode)])
            let (late, form) = try await site.consent()
            let refused = try await late.postCallback(form)
            #expect(refused.status == 503)
            #expect(refused["retry-after"] != nil)
            #expect(try await browser.session() != nil)
            try await site.apple.control("PUT", "keys", ["mode": "normal"])
            site.clock.advance(seconds: 61)
            // The very form that was refused: the attempt was not used up, nor the code.
            #expect(try await late.postCallback(form).status == 303)
        }
    }
}
