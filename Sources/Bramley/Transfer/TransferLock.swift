internal import Coding
internal import RelyingParty
internal import Sockets

/// One transfer at a time on a database: two would ask Apple about everybody twice. The lock goes with the process,
/// however that ends.
enum TransferLock {
    private static let longestWord = 200

    /// - Parameter work: what the command is, for whoever finds the lock taken.
    /// - Throws: with the name of the holder, when there is one.
    static func holding<Value>(
        _ work: String, _ place: OperatorDatabase, _ body: () async throws -> Value
    ) async throws -> Value {
        let held = try acquire(place.configuration.storage.directory + "/transfer.lock")
        defer { extendLifetime(held) }
        let now = place.now.rfc3339
        // Where there is no room for it, the lock holds all the same.
        try? held.leaveWord { process in "bramley transfer \(work), process \(process), since \(now)" }
        return try await body()
    }

    private static func acquire(_ path: String) throws(CommandFailure) -> FileLock {
        do {
            return try FileLock(path: path)
        } catch {
            guard error.isHeldByAnother else { throw CommandFailure("\(path) cannot be locked: \(error).") }
            let holder = word(in: path).map { ": \($0)" } ?? ""
            throw CommandFailure(
                "Another transfer is under way on this database\(holder). Run this again when it has ended.")
        }
    }

    /// What the holder says of itself; nil in the moment before it has.
    private static func word(in path: String) -> String? {
        var bytes: [UInt8] = []
        guard let file = try? InputFile(path: path), (try? file.read(longestWord, appendingTo: &bytes)) != nil else {
            return nil
        }
        let isPlain = bytes.allSatisfy { (0x20...0x7E).contains($0) }
        return bytes.isEmpty || !isPlain ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
