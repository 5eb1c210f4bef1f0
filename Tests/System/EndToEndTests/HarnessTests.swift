import AppleSimulator
import Coding
import Foundation
import Testing

/// The harness itself: if these fail, look here first.
struct HarnessTests {
    /// What a site opened is closed when it has stopped: descriptors of one test must not add up over all.
    @Test func stoppedSitesLeaveNoDescriptorsOpen() async throws {
        func loops() throws -> Int {
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return names.count { name in
                // Another test may have closed it since.
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
