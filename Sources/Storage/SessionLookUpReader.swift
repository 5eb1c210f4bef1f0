import Coding
import Crypto
import RelyingParty

/// One loop's synchronous look-up: a read-only connection of its own and one prepared statement. The statement is
/// reset before every answer, so no read transaction outlives a call.
final class SessionLookUpReader: SessionReader {
    private let connection: SQLiteConnection
    private let limits: SessionLimits

    init(connection: SQLiteConnection, limits: SessionLimits) {
        self.connection = connection
        self.limits = limits
    }

    func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
        do {
            guard let row = try connection.firstRow(SessionQuery.byToken, [token]) else { return nil }
            let found = try SignedIn(row: row)
            return now < limits.end(of: found.session) ? found : nil
        } catch {
            throw StoreError(error)
        }
    }
}
