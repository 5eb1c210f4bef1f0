import AppleSimulator
import Certificates
import ChildProcesses
import Coding
import Foundation
import Glibc
import HTTP
import HTTPTypes
import TemporaryFolders
import Testing

/// Our own keys at Apple change: the second takes over without an interruption, and .p8 files are read again.
@Suite struct KeyChangeTests {
    private static let nextID = "NEXT123456"

    private static func withNext() -> [(String, JSON)] {
        [("apple", ["nextKeyID": .string(nextID), "nextPrivateKey": .string(TestKeys.second)])]
    }

    /// A sign-in by somebody with a browser of their own.
    private static func signIn(_ site: Site) async throws -> Int { try await site.browser().signIn().status }

    @Test func revokingTheOldKeyAffectsNobody() async throws {
        try await withSite(SiteOptions(configuration: Self.withNext())) { (site: Site) async throws in
            try await site.addSecondKey(id: Self.nextID)
            let before = site.browser()
            #expect(try await before.signIn().status == 303)
            // Sign-ins all along, and the old key goes away in the middle of them.
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<24 {
                    if number == 8 { try await site.apple.control("DELETE", "client-keys/\(Apple.keyID)") }
                    group.addTask { try await Self.signIn(site) }
                    if number.isMultiple(of: 4) { #expect(try await group.next() == 303) }
                }
                for try await status in group { #expect(status == 303) }
            }
            #expect(try await before.session() != nil)
            let said = site.log.lines.filter { $0.contains("Apple rejected one client key and accepted the other") }
            #expect(said.count == 1)
            #expect(said.first?.contains("\"refused\":\"\(Apple.keyID)\"") == true)
            #expect(said.first?.contains("\"works\":\"\(Self.nextID)\"") == true)
            // From here on the first request is the right one.
            let asked = try await site.apple.requests(to: "token")
            #expect(try await Self.signIn(site) == 303)
            #expect(try await site.apple.requests(to: "token") == asked + 1)
            // A new process finds out again.
            try await site.restart()
            #expect(try await Self.signIn(site) == 303)
        }
    }

    /// What may be in the file when SIGHUP comes, and what the log says of it.
    private static let unusable: [(name: String, mode: Int, text: String?)] = [
        ("no key", 0o600, "not a key"),
        ("half a key", 0o600, String(TestKeys.first.prefix(120))),
        ("nothing", 0o600, ""),
        ("a file everybody reads", 0o644, TestKeys.second),
        ("a file everybody writes", 0o622, TestKeys.second),
        ("no file", 0o600, nil),
        ("too much", 0o600, TestKeys.second + String(repeating: "\n", count: 70_000)),
    ]

    @Test func wrongFileIsCorrectedWithoutARestart() async throws {
        try await withSite { (site: Site) async throws in
            let path = site.directory + "/AuthKey.p8"
            for file in Self.unusable {
                try site.write(file.text, to: path, mode: file.mode)
                let lines = site.log.lines.count
                site.reloadKeys()
                let said = site.log.lines.dropFirst(lines).joined()
                #expect(
                    said.contains("Apple client keys not reloaded; the previous keys stay in use"),
                    "\(file.name)")
                #expect(said.contains("apple.privateKeyFile"), "\(file.name)")
                #expect(!said.contains("Apple client keys reloaded"), "\(file.name): \(said)")
                #expect(!said.contains("MIGHAg"), "\(file.name)")
                // The file is refused, the key in use not forgotten. Past the five minutes a kept client secret is used:
                // this one is signed again.
                site.clock.advance(seconds: 301)
                #expect(try await Self.signIn(site) == 303, "\(file.name)")
            }
            // The portal's key has the same ID in these tests and another value: as if the wrong .p8 had been put there.
            try await site.addSecondKey(id: Apple.keyID)
            let refused = site.browser()
            #expect(try await refused.postCallback(try await refused.consent()).status == 400)
            try site.write(TestKeys.second, to: path, mode: 0o600)
            site.reloadKeys()
            #expect(site.log.lines.last?.contains("\"changed\":true") == true)
            #expect(try await Self.signIn(site) == 303)
        }
    }

    @Test func twoFilesWithOneKeyAreRefused() async throws {
        let next = FileManager.default.temporaryDirectory.appending(path: "next-\(UUID().uuidString).p8").path
        defer { try? FileManager.default.removeItem(atPath: next) }
        try Data(TestKeys.second.utf8).write(to: URL(filePath: next))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: next)
        let options = SiteOptions(configuration: [
            ("apple", ["nextKeyID": .string(Self.nextID), "nextPrivateKeyFile": .string(next)])
        ])
        try await withSite(options) { (site: Site) async throws in
            try site.write(TestKeys.second, to: site.directory + "/AuthKey.p8", mode: 0o600)
            site.reloadKeys()
            #expect(site.log.text.contains("contains the same key as apple.keyID"))
            // Both stay as they were: the first one still signs what Apple accepts.
            #expect(try await Self.signIn(site) == 303)
        }
    }

    /// What somebody may have made of the configuration when SIGHUP comes: members of `apple`, or a whole text.
    private static let refused: [(name: String, changes: JSON?, said: String)] = [
        ("half a file", nil, "config.json"),
        ("another team", ["teamID": "TEAM654321"], "apple.teamID"),
        ("an ID that is none", ["keyID": "next"], "apple.keyID"),
        ("a file that is not there", ["keyID": .string(nextID), "privateKeyFile": "/nowhere.p8"], "does not exist"),
        ("a next ID without its key", ["nextKeyID": .string(nextID)], "apple.nextKeyID"),
        ("a next key without its ID", ["nextPrivateKey": .string(TestKeys.second)], "apple.nextPrivateKey"),
        (
            "a good key beside a bad one",
            ["keyID": .string(nextID), "privateKeyFile": .null, "privateKey": "nonsense"], "apple.privateKey"
        ),
        ("a mistake elsewhere", ["issuers": []], "apple.issuers"),
        ("a key nobody knows", ["keyId": "NEXT123456"], "apple.keyId"),
    ]

    @Test func invalidConfigurationChangesNoKey() async throws {
        try await withSite { (site: Site) async throws in
            let path = site.directory + "/config.json"
            let good = try String(contentsOfFile: path, encoding: .utf8)
            for entry in Self.refused {
                var text = String(good.prefix(200))
                if let changes = entry.changes {
                    var json = try #require(JSON(parsing: Array(good.utf8)))
                    var apple = try #require(json["apple"])
                    for member in changes.members { apple[member.name] = member.value }
                    json["apple"] = apple
                    text = String(decoding: json.bytes, as: UTF8.self)
                }
                try site.write(text, to: path, mode: 0o600)
                let lines = site.log.lines.count
                site.reloadKeys()
                let said = site.log.lines.dropFirst(lines).joined()
                #expect(said.contains("the previous keys stay in use"), "\(entry.name): \(said)")
                #expect(said.contains(entry.said), "\(entry.name): \(said)")
                #expect(!said.contains("keys reloaded"), "\(entry.name)")
                #expect(!said.contains("MIGHAg"), "\(entry.name)")
                site.clock.advance(seconds: 301)
                #expect(try await Self.signIn(site) == 303, "\(entry.name)")
            }
            try site.write(good, to: path, mode: 0o600)
            site.reloadKeys()
            #expect(site.log.lines.last?.contains("\"changed\":false") == true)
        }
    }

    /// docs/operate/keys.md, "Apple key", word for word.
    @Test func newKeyNeedsNoRestart() async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            let original = try String(contentsOfFile: place.configurationPath, encoding: .utf8)
            let nextPath = try place.folder.write(TestKeys.second, to: "AuthKey_\(Self.nextID).p8")
            let server = try await place.start(on: group)
            var reloads = 0
            func reload(_ configuration: String, _ sign: String = "changed=true") async throws {
                try place.folder.write(configuration, to: "config.json")
                let before = server.process.output.components(separatedBy: sign).count
                server.process.signal(SIGHUP)
                try await eventually("SIGHUP is heard") {
                    server.process.output.components(separatedBy: sign).count > before
                }
                reloads += 1
            }
            func signIn() async throws {
                let person = try await simulator.add("after\(reloads)")
                _ = try await server.signIn(person, at: simulator, from: "10.71.0.\(reloads)")
            }
            try await signIn()
            _ = try await simulator.control(
                .post, "clients",
                [
                    "id": .string(ServerPlace.servicesID), "team": .string(ServerPlace.teamID),
                    "redirectURIs": .array([.string(ServerPlace.publicURL + "/apple/callback")]),
                    "keyID": .string(Self.nextID), "key": .string(TestKeys.second),
                ])
            let current = #""keyID": "\#(ServerPlace.keyID)","#
            try await reload(
                original.replacing(
                    current, with: current + #" "nextKeyID": "\#(Self.nextID)", "nextPrivateKeyFile": "\#(nextPath)","#)
            )
            try await signIn()
            _ = try await simulator.control(.delete, "client-keys/\(ServerPlace.keyID)")
            try await signIn()
            #expect(server.process.output.contains("Apple rejected one client key and accepted the other"))
            // Half a file, as an editor may leave it for a moment, changes nothing.
            try await reload(String(original.prefix(400)), "the previous keys stay in use")
            try await signIn()
            try await reload(
                original.replacing(current, with: #""keyID": "\#(Self.nextID)","#)
                    .replacing(place.keyPath, with: nextPath))
            try await signIn()
            let asked = try await simulator.requests("token")
            try await signIn()
            #expect(try await simulator.requests("token") == asked + 1, "the first request is the right one")
            #expect(await server.stop() == StartAndStopTests.clean)
        }
    }
}

extension Site {
    /// The team makes a second key in Apple's portal.
    func addSecondKey(id: String) async throws {
        try await apple.control(
            "POST", "clients",
            [
                "id": .string(Apple.servicesID), "team": .string(Apple.teamID),
                "redirectURIs": [.string(publicURL + "/apple/callback")], "keyID": .string(id),
                "key": .string(TestKeys.second),
            ])
    }

    /// Replaces a file; nil removes it.
    func write(_ text: String?, to path: String, mode: Int) throws {
        try? FileManager.default.removeItem(atPath: path)
        guard let text else { return }
        let made = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        guard made else { throw SiteError("\(path) cannot be written") }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }
}
