internal import Accounts
internal import Coding
internal import Crypto
internal import Sockets
internal import Storage

extension OperatorDatabase {
    /// One transfer at a time on a database: two would ask Apple about everyone twice. It ends with the process.
    func transferring<Value>(_ work: String, _ body: () async throws -> Value) async throws -> Value {
        let path = configuration.storage.directory + "/transfer.lock"
        let held = try FileLock.taking(
            path,
            orSay: "Another transfer is running on this database\(Self.word(in: path)). Run this again afterwards.")
        defer { extendLifetime(held) }
        let start = now.rfc3339
        // Without space on the disk, the lock still holds.
        try? held.writeHolder { process in "bramley transfer \(work), process \(process), since \(start)" }
        guard database.store.isShared else { return try await body() }
        let holder = Hexadecimal.encode(random.bytes(16))
        guard try await database.holdLease(.transfer, holder: holder, seconds: Self.leaseLength, at: now) else {
            throw CommandFailure("Another machine is running a transfer on this database. Run this again afterwards.")
        }
        // Ended and awaited when this returns.
        async let _: Void = keepLease(of: holder)
        do {
            let value = try await body()
            try await database.releaseLease(.transfer, holder: holder)
            return value
        } catch {
            try? await database.releaseLease(.transfer, holder: holder)
            throw error
        }
    }

    /// In seconds; extended when a third has passed.
    private static let leaseLength: Int64 = 60

    /// Runs until it is cancelled. Failures may pass; if they last, the transfer cannot store answers either.
    private func keepLease(of holder: String) async {
        while (try? await Task.sleep(for: .seconds(Self.leaseLength / 3))) != nil {
            _ = try? await database.holdLease(.transfer, holder: holder, seconds: Self.leaseLength, at: now)
        }
    }

    private static let longestWord = 200

    /// `: ` and the holder's own description; empty until it has written one.
    private static func word(in path: String) -> String {
        var bytes: [UInt8] = []
        guard let file = try? InputFile(path: path), (try? file.read(longestWord, appendingTo: &bytes)) != nil else {
            return ""
        }
        let isPlain = bytes.allSatisfy { (0x20...0x7E).contains($0) }
        return bytes.isEmpty || !isPlain ? "" : ": " + String(decoding: bytes, as: UTF8.self)
    }
}
