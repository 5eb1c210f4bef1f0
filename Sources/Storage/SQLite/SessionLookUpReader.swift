import Coding
import Crypto
import RelyingParty

/// One loop's synchronous look-up: its own read-only connection and one prepared statement. The statement is reset
/// before every answer, so no read transaction outlives a call.
final class SessionLookUpReader: SessionReader {
    private let connection: any EngineConnection
    private let context: StoreContext

    init(connection: any EngineConnection, context: StoreContext) {
        self.connection = connection
        self.context = context
    }

    func signedIn(token: Digest256, at now: Timestamp) throws(StoreError) -> SignedIn? {
        do {
            return try Snapshot(connection, context, at: now).signedIn(token)
        } catch {
            throw StoreError(error)
        }
    }
}
