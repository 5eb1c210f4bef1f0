import Coding
import Crypto
import GRDB
import RelyingParty

/// One loop's synchronous look-up: a read-only connection of its own and one prepared statement. The statement is
/// reset before every answer, so no read transaction outlives a call.
final class SessionLookUpReader: SessionReader {
    private let queue: DatabaseQueue
    private let limits: SessionLimits
    private let statement: Statement

    init(queue: DatabaseQueue, limits: SessionLimits) throws {
        self.queue = queue
        self.limits = limits
        statement = try queue.unsafeRead { connection in try connection.makeStatement(sql: SessionQuery.byToken) }
    }

    func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
        let found: SignedIn?
        do {
            found = try queue.unsafeRead { connection in
                try connection.first(statement, [blob(token)]) { try SignedIn(row: $0) }
            }
        } catch {
            throw StoreError(error)
        }
        guard let found, now < limits.end(of: found.session) else { return nil }
        return found
    }
}
