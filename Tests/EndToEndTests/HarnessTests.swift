import AppleSimulator
import Coding
import Foundation
import Testing

/// The harness itself: if these fail, look here first.
struct HarnessTests {
    @Test func aWholeSignInWorks() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            let response = try await browser.signIn(as: "ada")
            #expect(response["location"] == "/account")
            let session = try await browser.session()
            #expect(session?["user"]?["email"]?.stringValue == "ada@example.com")
            #expect(session?["user"]?["name"]?["given"]?.stringValue == "Ada")
            #expect(try await site.count("session") == 1)
        }
    }

    @Test func aSessionOutlivesARestart() async throws {
        try await withSite { (site: Site) async throws in
            let browser = site.browser()
            try await browser.signIn(as: "boris")
            try await site.restart()
            #expect(try await browser.session() != nil)
            #expect(try await browser.verify().status == 204)
        }
    }

    /// What a site opened is closed when it has stopped: descriptors of one test must not add up over all.
    @Test func stoppedSitesLeaveNoDescriptorsOpen() async throws {
        func loops() throws -> Int {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return names.count { name in
                // What another test has closed since is no link any more.
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
                return target == "anon_inode:[eventpoll]"
            }
        }
        let before = try loops()
        for _ in 0..<15 { try await withSite { (site: Site) async throws in try await site.browser().signIn() } }
        // Other tests have loops of their own, which are gone at the latest when those end; what fifteen leaking sites
        // left would stay: thirty.
        try await eventually(within: .seconds(900), "the loops are closed") { try loops() < before + 24 }
    }
}
