import Coding
import Crypto
import Storage

// How values of the domain are stored: times in milliseconds since 1970 UTC, digests as 32 bytes, identifiers and
// enumerations by their raw values.

extension Optional: ColumnReadable where Wrapped: ColumnReadable {
    init?(_ column: ColumnValue) {
        if column == .null {
            self = .none
        } else {
            guard let value = Wrapped(column) else { return nil }
            self = value
        }
    }
}

extension Int64: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let number = column.integer else { return nil }
        self = number
    }

    var column: ColumnValue { .integer(self) }
}

extension Int: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let number = Int64(column) else { return nil }
        self.init(exactly: number)
    }

    var column: ColumnValue { .integer(Int64(self)) }
}

extension Bool: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let number = Int64(column) else { return nil }
        self = number != 0
    }

    var column: ColumnValue { .integer(self ? 1 : 0) }
}

extension String: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let text = column.text else { return nil }
        self = text
    }

    var column: ColumnValue { .text(self) }
}

extension [UInt8]: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let bytes = column.blob else { return nil }
        self = bytes
    }

    var column: ColumnValue { .blob(self) }
}

extension Digest256: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let bytes = [UInt8](column) else { return nil }
        self.init(bytes: bytes)
    }

    var column: ColumnValue { .blob(bytes) }
}

extension Timestamp: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let number = Int64(column) else { return nil }
        self.init(milliseconds: number)
    }

    var column: ColumnValue { .integer(milliseconds) }
}

extension WebhookEndpointID: ColumnBindable, ColumnReadable {
    init?(_ column: ColumnValue) {
        guard let number = Int64(column) else { return nil }
        self.init(number)
    }

    var column: ColumnValue { .integer(rawValue) }
}

/// A type stored as its raw text.
protocol TextColumn: ColumnBindable, ColumnReadable {
    var rawValue: String { get }
}

extension TextColumn {
    var column: ColumnValue { .text(rawValue) }
}

// Enumerations: any other text is corrupt.
extension TextColumn where Self: RawRepresentable, RawValue == String {
    init?(_ column: ColumnValue) {
        guard let text = String(column) else { return nil }
        self.init(rawValue: text)
    }
}

/// An identifier: validated before it was stored.
protocol IdentifierColumn: TextColumn {
    init(unchecked rawValue: String)
}

extension IdentifierColumn {
    init?(_ column: ColumnValue) {
        guard let text = String(column) else { return nil }
        self.init(unchecked: text)
    }
}

/// A text as Apple sent it.
protocol AppleTextColumn: TextColumn {
    init(_ rawValue: String)
}

extension AppleTextColumn {
    init?(_ column: ColumnValue) {
        guard let text = String(column) else { return nil }
        self.init(text)
    }
}

extension UserID: IdentifierColumn {}
extension SessionID: IdentifierColumn {}
extension EventID: IdentifierColumn {}
extension APIKeyID: IdentifierColumn {}
extension LinkID: IdentifierColumn {}
extension WaitingID: IdentifierColumn {}
extension TeamID: AppleTextColumn {}
extension ClientID: AppleTextColumn {}
extension AppleSubject: AppleTextColumn {}
extension TransferSubject: AppleTextColumn {}
extension User.State: TextColumn {}
extension RealUserStatus: TextColumn {}
extension CredentialState: TextColumn {}
extension CredentialCause: TextColumn {}
extension SessionKind: TextColumn {}
extension SessionEndCause: TextColumn {}
extension SignInRefusal: TextColumn {}
extension JournalEntry.Kind: TextColumn {}
extension AuditEntry.Kind: TextColumn {}
extension AuditActor.Kind: TextColumn {}
extension NotificationOutcome: TextColumn {}
extension LinkState: TextColumn {}
extension LinkKind: TextColumn {}
extension LeasedJob: TextColumn {}

/// A list of texts in one column, as a JSON array.
struct TextList: ColumnBindable, ColumnReadable {
    let items: [String]

    init(_ items: [String]) {
        self.items = items
    }

    init?(_ column: ColumnValue) {
        guard let text = String(column) else { return nil }
        guard text != "[]" else {
            items = []
            return
        }
        guard let array = (try? JSONReader.parse(Array(text.utf8)))?.arrayValue else { return nil }
        let items = array.compactMap(\.stringValue)
        guard items.count == array.count else { return nil }
        self.items = items
    }

    var text: String {
        items.isEmpty ? "[]" : String(decoding: JSONWriter.encode(.array(items.map { .string($0) })), as: UTF8.self)
    }

    var column: ColumnValue { .text(text) }
}
