import Certificates
import Coding
import Crypto
import Foundation
import LogRecording
import Sockets
import Storage
import Synchronization
import Testing

@testable import Accounts
@testable import Bramley

/// Files that change under a running server, look by look, on a clock that is moved.
struct CertificateReloadTests {
    static let maker = Result { try CertificateMaker() }

    private final class Clock: WallClock {
        // An hour ahead: a certificate made while a test runs begins by the machine's clock, and counts at once.
        private let value = Mutex(SystemClock().now().adding(seconds: 3600))
        func now() -> Timestamp { value.withLock { $0 } }
        func advance(days: Int64) { value.withLock { $0 = $0.adding(seconds: days * 86_400) } }
    }

    /// What was served, in order.
    private final class Served: Sendable {
        private let storage = Mutex<[[UInt8]]>([])
        /// Whether the acceptor refuses.
        let refuses = Mutex(false)
        struct Refused: Error {}
        var chains: [[UInt8]] { storage.withLock { $0 } }
        func add(_ chain: [UInt8]) throws {
            if refuses.withLock({ $0 }) { throw Refused() }
            storage.withLock { $0.append(chain) }
        }
    }

    private let fixture: ConfigurationFixture
    private let maker: CertificateMaker
    private let clock = Clock()
    private let log = LogRecorder()
    private let served = Served()

    init() throws {
        fixture = ConfigurationFixture()
        maker = try Self.maker.get()
    }

    private var certificatePath: String { fixture.directory.appending(path: "fullchain.pem").path }
    private var keyPath: String { fixture.directory.appending(path: "privkey.pem").path }

    private func write(_ issued: CertificateMaker.Issued) throws {
        _ = try fixture.write(issued.chain, to: "fullchain.pem", mode: 0o644)
        _ = try fixture.write(issued.key, to: "privkey.pem")
    }

    private func configuration() throws -> Configuration {
        try fixture.load(["server": ["certificateFile": certificatePath, "privateKeyFile": keyPath]]).configuration
    }

    private func reload(_ configuration: Configuration) throws -> CertificateReload {
        let reload = CertificateReload(
            try #require(configuration.server.tls), host: "id.example.com", isDirect: true,
            runtime: Runtime(clock: clock, random: SystemRandom(), logger: log.logger)
        ) { [served] in
            _ = $1
            try served.add($0)
        }
        // The files are as they were read: two looks find that.
        for _ in 0..<3 { reload.check() }
        #expect(log.lines.isEmpty)
        return reload
    }

    /// A good pair in use, and the reload that watches its files.
    private func start(days: Int = 90) throws -> (CertificateReload, CertificateMaker.Issued) {
        let issued = try maker.issue(["id.example.com"], days: days)
        try write(issued)
        return (try reload(try configuration()), issued)
    }

    private func said(_ words: String) -> Int { log.lines.count { $0.contains(words) } }
    private static let kept = "the previous one stays in use"
    private static let taken = "certificate reloaded"

    @Test func newPairIsLoadedOnceItIsStable() throws {
        let (reload, _) = try start()
        let count = served.chains.count
        let next = try maker.issue(["id.example.com"])
        try write(next)
        reload.check()
        #expect(served.chains.count == count)
        reload.check()
        #expect(served.chains.last == Array(next.chain.utf8))
        for _ in 0..<5 { reload.check() }
        #expect(served.chains.count == count + 1)
        #expect(said(Self.taken) == 1)
        #expect(log.lines.last?.contains("id.example.com") == true)
    }

    /// An acme client at work: one file, and much later the other.
    @Test func mismatchedPairIsReportedOnceAndRetried() throws {
        let (reload, _) = try start()
        let count = served.chains.count
        let next = try maker.issue(["id.example.com"])
        _ = try fixture.write(next.chain, to: "fullchain.pem", mode: 0o644)
        for _ in 0..<6 { reload.check() }
        #expect(served.chains.count == count)
        #expect(said(Self.kept) == 1)
        #expect(log.lines.last?.contains("mismatch") == true)
        _ = try fixture.write(next.key, to: "privkey.pem")
        for _ in 0..<6 { reload.check() }
        #expect(served.chains.count == count + 1)
        #expect(served.chains.last == Array(next.chain.utf8))
        #expect(said(Self.kept) == 1 && said(Self.taken) == 1)
    }

    /// As certbot does it: links that lead elsewhere from one moment to the next.
    @Test func linksAreFollowed() throws {
        let (first, second) = (try maker.issue(["id.example.com"]), try maker.issue(["id.example.com"]))
        for (number, issued) in [(1, first), (2, second)] {
            _ = try fixture.write(issued.chain, to: "fullchain\(number).pem")
            _ = try fixture.write(issued.key, to: "privkey\(number).pem")
        }
        func link(to number: Int) throws {
            for name in ["fullchain", "privkey"] {
                let path = fixture.directory.appending(path: name + ".pem").path
                try? FileManager.default.removeItem(atPath: path)
                try linkFile(at: path, to: "\(name)\(number).pem")
            }
        }
        try link(to: 1)
        let reload = try reload(try configuration())
        try link(to: 2)
        for _ in 0..<2 { reload.check() }
        #expect(served.chains.last == Array(second.chain.utf8))
    }

    /// The very same, written again: nothing to do, and nothing to say.
    @Test func rewrittenIdenticalPairIsNotReported() throws {
        let (reload, issued) = try start()
        try write(issued)
        for _ in 0..<4 { reload.check() }
        #expect(served.chains.isEmpty)
        #expect(log.lines.isEmpty)
    }

    /// Started with it, since the operator has no better one: that is no pair to be refused a second later.
    @Test func certificateExpiredAtTheStartIsNotReportedAgain() throws {
        let issued = try maker.issue(["id.example.com"], days: 5)
        try write(issued)
        let configuration = try configuration()
        clock.advance(days: 10)
        _ = try reload(configuration)
        #expect(said(Self.kept) == 0)
    }

    /// What may come to stand in the files, and the reason in the log.
    private static let unusable: [(name: String, reason: String)] = [
        ("half a chain", "unreadable_certificate"), ("no chain", "no_certificate"), ("no file", "unreadable"),
        ("a key everybody reads", "unreadable"), ("another name", "wrong_name"), ("half a key", "unreadable_key"),
        ("a passphrase", "encrypted_key"), ("a weak key", "weak_key"), ("what the acceptor refuses", "unusable"),
    ]

    @Test(arguments: 0..<unusable.count) func badPairIsRefusedAndTheNextGoodOneLoaded(number: Int) throws {
        let (reload, issued) = try start()
        let count = served.chains.count
        let entry = Self.unusable[number]
        switch entry.name {
        case "half a chain": _ = try fixture.write(String(issued.chain.prefix(500)), to: "fullchain.pem")
        case "no chain": _ = try fixture.write("", to: "fullchain.pem")
        case "no file": try FileManager.default.removeItem(atPath: certificatePath)
        case "a key everybody reads": _ = try fixture.write(issued.key, to: "privkey.pem", mode: 0o644)
        case "another name": try write(try maker.issue(["www.example.com"]))
        case "half a key": _ = try fixture.write(String(issued.key.prefix(90)), to: "privkey.pem")
        case "a passphrase":
            try maker.write(issued.key, to: "reload.key")
            _ = try fixture.write(
                try maker.run("openssl pkey -in reload.key -aes256 -passout pass:x"), to: "privkey.pem")
        case "a weak key": try write(try maker.issue(["id.example.com"], key: .rsa1024))
        default:
            served.refuses.withLock { $0 = true }
            try write(try maker.issue(["id.example.com"]))
        }
        for _ in 0..<6 { reload.check() }
        #expect(served.chains.count == count)
        #expect(said(Self.kept) == 1, "\(log.lines)")
        #expect(log.lines.last?.contains("reason=\(entry.reason)") == true, "\(log.lines)")
        #expect(!log.lines.joined().contains("MIG"))
        served.refuses.withLock { $0 = false }
        let next = try maker.issue(["id.example.com"])
        try write(next)
        for _ in 0..<6 { reload.check() }
        #expect(served.chains.last == Array(next.chain.utf8))
        #expect(said(Self.taken) == 1)
    }

    @Test func restoredPairAfterABadOneIsReported() throws {
        let (reload, issued) = try start()
        _ = try fixture.write("", to: "fullchain.pem")
        for _ in 0..<3 { reload.check() }
        try write(issued)
        for _ in 0..<3 { reload.check() }
        #expect(said(Self.kept) == 1 && said(Self.taken) == 1)
    }

    /// Never instead of one that is good; and taken when its time has come.
    @Test func pairOutsideItsValidityWaits() throws {
        let (reload, _) = try start()
        let count = served.chains.count
        let next = try maker.issue(["id.example.com"], days: 30)
        try write(next)
        clock.advance(days: -2)
        for _ in 0..<3 { reload.check() }
        #expect(served.chains.count == count)
        #expect(said("not_yet_valid") == 1)
        clock.advance(days: 3)
        for _ in 0..<3 { reload.check() }
        #expect(served.chains.last == Array(next.chain.utf8))
        let short = try maker.issue(["id.example.com"], days: 5)
        clock.advance(days: 10)
        try write(short)
        for _ in 0..<3 { reload.check() }
        #expect(served.chains.last == Array(next.chain.utf8))
        #expect(said("expired") == 1)
    }

    @Test func sighupReadsOtherFilesToo() throws {
        let (reload, _) = try start()
        let other = try maker.issue(["id.example.com", "www.example.com"])
        let path = try fixture.write(other.chain, to: "other.pem")
        let key = try fixture.write(other.key, to: "other.key")
        let server = ["certificateFile": path, "privateKeyFile": key]
        reload.apply(try fixture.load(["server": server]).configuration, since: reload.glance())
        #expect(served.chains.last == Array(other.chain.utf8))
        #expect(said(Self.taken) == 1)
        // From then on those are watched, and the ones before no more.
        try write(try maker.issue(["id.example.com"]))
        let count = served.chains.count
        for _ in 0..<3 { reload.check() }
        #expect(served.chains.count == count)
        let next = try maker.issue(["id.example.com"])
        _ = try fixture.write(next.chain, to: "other.pem")
        _ = try fixture.write(next.key, to: "other.key")
        for _ in 0..<3 { reload.check() }
        #expect(served.chains.last == Array(next.chain.utf8))
    }

    @Test func sighupReportsNoChange() throws {
        let (reload, _) = try start()
        reload.apply(try configuration(), since: reload.glance())
        #expect(said("changed=false") == 1, "\(log.lines)")
    }

    /// The certificate comes a moment after the configuration was read with the old one.
    @Test func filesWrittenDuringSIGHUPAreReadAgain() throws {
        let (reload, _) = try start()
        let late = try maker.issue(["id.example.com"], days: 5)
        try write(late)
        clock.advance(days: 10)
        let glance = reload.glance()
        let loaded = try configuration()
        let next = try maker.issue(["id.example.com"])
        try write(next)
        reload.apply(loaded, since: glance)
        #expect(said("reason=expired") == 1, "\(log.lines)")
        for _ in 0..<3 { reload.check() }
        #expect(served.chains.last == Array(next.chain.utf8))
    }

    @Test func withoutACertificateTheOneInUseStays() throws {
        let (reload, _) = try start()
        let count = served.chains.count
        reload.apply(try fixture.load().configuration, since: reload.glance())
        #expect(served.chains.count == count)
        #expect(said(Self.kept) == 1)
    }

    @Test func filesAreReadDespiteABrokenConfiguration() throws {
        let (reload, _) = try start()
        let next = try maker.issue(["id.example.com"])
        try write(next)
        reload.checkNow()
        #expect(served.chains.last == Array(next.chain.utf8))
        let count = served.chains.count
        reload.checkNow()
        #expect(served.chains.count == count)
    }

    @Test func certificateDueForRenewalIsReportedOnceADay() throws {
        let (reload, _) = try start(days: 90)
        func look() { for _ in 0..<3 { reload.check() } }
        clock.advance(days: 71)
        look()
        #expect(log.lines.isEmpty)
        clock.advance(days: 2)
        look()
        #expect(said("certificate expires soon") == 1)
        clock.advance(days: 1)
        look()
        #expect(said("certificate expires soon") == 2)
        clock.advance(days: 20)
        look()
        #expect(said("certificate expired") == 1)
    }
}
