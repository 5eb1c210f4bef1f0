import Coding
import Crypto
import Foundation
import LogRecording
import Storage
import Stores
import Strangers
import Testing

@testable import Accounts

@Suite struct SigningKeyStoreTests {
    private func key(_ name: String, signsFrom: Timestamp, sealed: [UInt8]? = [1, 2, 3]) -> SigningKeyRecord {
        SigningKeyRecord(
            keyID: name,
            publicHalf: .p256(x: [UInt8](repeating: 0, count: 32), y: [UInt8](repeating: 255, count: 32)),
            sealedPrivateKey: sealed, createdAt: Timestamp(milliseconds: 1_234), signsFrom: signsFrom)
    }

    @Test("keys are read back in order, changed and dropped", arguments: StoreKind.allCases)
    func keeps(kind: StoreKind) async throws {
        let bench = try Bench(kind)
        let store = try bench.open()
        #expect(try await store.signingKeys() == [])
        let (old, new) = (key("b", signsFrom: .init(milliseconds: 1)), key("a", signsFrom: .init(milliseconds: 2)))
        #expect(try await store.changeSigningKeys { $0 + [new, old] } == [old, new])
        #expect(try await store.signingKeys() == [old, new])
        var erased = old
        erased.sealedPrivateKey = nil
        erased.signsFrom = Timestamp(milliseconds: 3)
        let changed = erased
        #expect(
            try await store.changeSigningKeys { keys in keys.map { $0.keyID == "b" ? changed : $0 } } == [new, changed])
        #expect(try await store.changeSigningKeys { _ in [changed] } == [changed])
        #expect(try await store.signingKeys() == [changed])
    }

    private func process(_ database: Accounts.Database, _ bench: Bench) -> SigningKeys {
        SigningKeys(
            database: database, keyring: bench.keyring,
            runtime: Runtime(clock: bench.clock, random: SystemRandom(), logger: .silent))
    }

    @Test("of several processes on one file one creates each key, and the others follow")
    func oneOfMany() async throws {
        let bench = try Bench()
        let databases = try (0..<4).map { _ in try bench.open(bench.options(busyTimeout: 5_000)) }
        let processes = databases.map { process($0, bench) }
        for days in [0, 29, 59] as [Int64] {
            bench.clock.advance(seconds: days == 0 ? 0 : days == 29 ? 29 * 86_400 : 30 * 86_400)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for process in processes { group.addTask { try await process.maintain() } }
                try await group.waitForAll()
            }
            let keys = try await databases[0].signingKeys()
            #expect(keys.count == (days == 0 ? 1 : 2))
            var signers: Set<String> = []
            for process in processes {
                try await process.refresh()
                signers.insert(try await process.signer(at: bench.clock.now()).keyID)
            }
            #expect(signers.count == 1)
        }
        for database in databases { database.close() }
    }

    @Test("the private half is never readable in a file, and is erased once it no longer signs", .onSQLite)
    func sealedAndErased() async throws {
        let (bench, database) = try Bench().opened()
        let process = process(database, bench)
        try await process.maintain()
        let signer = try await process.signer(at: bench.clock.now())
        let sealed = try #require(try await database.signingKeys().first?.sealedPrivateKey)
        // SEC 1 §C.4: 30 len 02 01 01 04 20, then the 32 bytes of the secret number.
        guard case .es256(let key) = signer.key else { throw Unexpected("not a P-256 key") }
        let scalar = Array(try key.derRepresentation().reveal()[7..<39])
        func holds(_ bytes: [UInt8]) throws -> Bool {
            let file = Data(try bench.databaseBytes())
            return file.range(of: Data(bytes)) != nil
        }
        #expect(try holds(Array(signer.keyID.utf8)))
        #expect(try holds(Array(sealed.prefix(64))))
        #expect(try !holds(scalar))
        bench.clock.advance(seconds: 29 * 86_400)
        try await process.maintain()
        bench.clock.advance(seconds: 86_400 + 60)
        try await process.maintain()
        database.close()
        #expect(try holds(Array(signer.keyID.utf8)))
        #expect(try !holds(Array(sealed.prefix(64))))
    }
}
