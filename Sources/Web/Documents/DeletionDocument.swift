import Accounts
import Coding

/// The API's answer to a deletion: whether Apple is told, or the person must remove the app there themselves.
enum DeletionDocument {
    /// `appleNotified` is null when another request has deleted the account, and only that one knows.
    static func encode(_ deletion: UserDeletion) -> [UInt8] {
        var writer = JSONWriter(reserving: 32)
        writer.beginObject()
        writer.member("appleNotified", deletion.appleIsTold)
        writer.endObject()
        return writer.bytes
    }
}
