import Accounts
import Coding
import Crypto
import LogRecording
import Sockets
import Storage
import TemporaryFolders
import Testing

@testable import Bramley

/// The files of a rotation, after each step at which it may be stopped.
struct SealingKeyRotationTests {
    private let folder: TemporaryFolder
    private let path: String
    private static let old = String(repeating: "ab", count: 32)

    init() throws {
        folder = try TemporaryFolder(mode: 0o700)
        path = try folder.write(Self.old + "\n", to: "sealing.key", mode: 0o400)
    }

    private func id(_ file: String) throws -> String { try SealingKeyFile.id(of: file) }

    @Test func theNextKeyIsMadeOnce() throws {
        try SealingKeyFile.prepare(path, SystemRandom())
        let next = try id(SealingKeyFile.next(path))
        try SealingKeyFile.prepare(path, SystemRandom())
        #expect(try id(SealingKeyFile.next(path)) == next)
    }

    @Test("Every unfinished change of files ends the same", arguments: 0...2)
    func takesOver(stop: Int) throws {
        let new = String(repeating: "cd", count: 32)
        let old = try id(path)
        _ = try folder.write(new, to: "sealing.key.next")
        if stop > 0 { _ = try folder.write(Self.old, to: "sealing.key.former-\(old)") }
        if stop > 1 { try Files.replace(path, mode: 0o400, bytes: Array(new.utf8)) }
        try SealingKeyFile.takeOver(path)
        #expect(SealingKeyFile.formers(path) == ["\(path).former-\(old)"])
        #expect(try id("\(path).former-\(old)") == old)
        #expect(try id(path) == SealingKey(material: SecretBytes([UInt8](repeating: 0xCD, count: 32))).id)
        #expect(!GuardedFile.exists(SealingKeyFile.next(path)))
    }

    @Test func anotherKeyInTheFormersPlaceIsNotTheFormer() throws {
        let former = try folder.write(String(repeating: "ef", count: 32), to: "sealing.key.former-\(id(path))")
        let new = try folder.write(String(repeating: "cd", count: 32), to: "sealing.key.next")
        let error = #expect(throws: CommandFailure.self) { try SealingKeyFile.takeOver(path) }
        #expect(error?.description.contains(former) == true)
        #expect(SealingKeyFile.next(path) == new && GuardedFile.exists(new))
    }

    @Test func onlyFormerKeysAreFormer() throws {
        // The second is an operator's copy.
        let names = ["former-12345678.unused", "20251129", "12345678", "former-1234567", "former-1234567G", "9.new"]
        for name in names { _ = try folder.write(Self.old, to: "sealing.key.\(name)") }
        #expect(SealingKeyFile.formers(path).isEmpty)
        let former = try folder.write(Self.old, to: "sealing.key.former-0a1b2c3d")
        #expect(SealingKeyFile.formers(path) == [former])
        #expect(try SealingKeyFile.retire(former) == former + ".unused")
        #expect(SealingKeyFile.formers(path).isEmpty)
    }

    @Test func aKeyInUseThatIsNotRecordedIsReportedAsSuch() async throws {
        var configuration = Configuration()
        configuration.storage.directory = folder.path
        configuration.secrets.sealingKey = .file(path: path)
        let log = LogRecorder()
        let runtime = Runtime(logger: log.logger)
        let keyring = try SealingKeyFile.loadExisting(configuration.database)
        let database = try Database(options: configuration.database.options, keyring: keyring, runtime: runtime)
        database.close()
        var reload = SealingKeyReload(
            ServerBase(
                configuration: configuration, runtime: runtime, keyring: keyring, group: try EventLoopGroup(count: 1),
                database: database))
        try SealingKeyFile.prepare(path, SystemRandom())
        let new = try id(SealingKeyFile.next(path))
        try SealingKeyFile.takeOver(path)
        for _ in 0..<2 { await reload.check() }
        #expect(keyring.currentKeyID == new)
        let errors = log.lines.filter { $0.hasPrefix("error") }
        #expect(errors.count == 1 && errors[0].contains("new sealing key in use, but not recorded in the database"))
    }

    @Test func aSecondServerMayHoldUpTheRotation() {
        let advice = "run it there with --copied"
        #expect(KeysCommand.RotateSealing.unused("0a1b2c3d", isShared: true).description.contains(advice))
        #expect(!KeysCommand.RotateSealing.unused("0a1b2c3d", isShared: false).description.contains(advice))
    }

    @Test func aRingThatIsReplacedOpensWithTheNewKeys() throws {
        let (first, second) = (SealingKey.generate(), SealingKey.generate())
        let ring = SealingKeyring(current: first)
        let sealed = ring.seal([1], purpose: .refreshToken)
        #expect(ring.replace(with: SealingKeyring(current: second, previous: [first])))
        #expect(!ring.replace(with: SealingKeyring(current: second, previous: [first])))
        #expect(ring.currentKeyID == second.id && ring.isOutdated(sealed))
        #expect(try ring.open(sealed, purpose: .refreshToken) == [1])
    }
}
