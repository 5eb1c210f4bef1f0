import Coding
import Crypto
import Storage

/// A type whose values a statement accepts as parameters.
protocol ColumnBindable: Sendable {
    var column: ColumnValue { get }
}

/// The parameters of one statement, in order; nil is NULL.
struct StatementArguments: ExpressibleByArrayLiteral, Sendable {
    private(set) var values: [ColumnValue]

    init(_ values: [(any ColumnBindable)?]) { self.values = values.map { $0?.column ?? .null } }

    init(arrayLiteral elements: (any ColumnBindable)?...) { self.init(elements) }

    static func += (left: inout StatementArguments, right: StatementArguments) { left.values += right.values }
}

protocol ColumnReadable {
    /// Nil for a column of another type; only optional types accept NULL.
    init?(_ column: ColumnValue)
}

extension Row {
    /// The column of this name; `.corrupt` when it is not a `Value`.
    subscript<Value: ColumnReadable>(name: String) -> Value {
        get throws(StoreError) {
            guard let value = Value(try self.value(name)) else { throw .corrupt("\(name) holds no \(Value.self)") }
            return value
        }
    }

    /// The texts of a `TextList`.
    func texts(_ name: String) throws(StoreError) -> [String] {
        let list: TextList = try self[name]
        return list.items
    }

    /// The scopes that this version knows; others are ignored.
    func scopes<Scope: RawRepresentable<String>>(_ name: String) throws(StoreError) -> [Scope] {
        try texts(name).compactMap { Scope(rawValue: $0) }
    }
}

/// Columns of joined tables, each read by its qualified name: `u.id AS "u.id"`.
func columns(_ names: String...) -> String { columns(names) }

func columns(_ names: [String]) -> String { names.map { "\($0) AS \"\($0)\"" }.joined(separator: ", ") }

/// The conditions of a search, joined by AND, with their arguments.
struct Conditions {
    private var parts: [String] = []
    private(set) var arguments = StatementArguments()

    init() {}

    init(_ condition: String, _ values: StatementArguments) { add(condition, values) }

    mutating func add(_ condition: String, _ values: StatementArguments) {
        parts.append(condition)
        arguments += values
    }

    /// The column has one of the values; an empty list adds no condition.
    mutating func add(_ column: String, in values: [any ColumnBindable]) {
        guard !values.isEmpty else { return }
        add("\(column) IN (\(values.map { _ in "?" }.joined(separator: ", ")))", StatementArguments(values))
    }

    /// Empty without conditions.
    var clause: String { parts.isEmpty ? "" : "WHERE " + parts.joined(separator: " AND ") }
}

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
    init?(stored text: String)
}

extension TextColumn {
    var column: ColumnValue { .text(rawValue) }

    init?(_ column: ColumnValue) {
        guard let text = column.text else { return nil }
        self.init(stored: text)
    }
}

// Enumerations: any other text is corrupt.
extension TextColumn where Self: RawRepresentable, RawValue == String {
    init?(stored text: String) { self.init(rawValue: text) }
}

// Validated before they were stored, or stored as Apple sent them.
extension ID: TextColumn { init(stored text: String) { self.init(unchecked: text) } }
extension OpenIDClientID: TextColumn { init(stored text: String) { self.init(unchecked: text) } }
extension TeamID: TextColumn { init(stored text: String) { self.init(text) } }
extension ClientID: TextColumn { init(stored text: String) { self.init(text) } }
extension AppleSubject: TextColumn { init(stored text: String) { self.init(text) } }
extension TransferSubject: TextColumn { init(stored text: String) { self.init(text) } }
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

    init(_ items: [String]) { self.items = items }

    init(_ items: some Sequence<some RawRepresentable<String>>) { self.init(items.map(\.rawValue)) }

    init?(_ column: ColumnValue) {
        guard let text = String(column) else { return nil }
        guard text != "[]" else {
            items = []
            return
        }
        guard let items = (try? JSONReader.parse(Array(text.utf8)))?.textsValue else { return nil }
        self.items = items
    }

    var text: String { items.isEmpty ? "[]" : String(decoding: JSONWriter.encode(.texts(items)), as: UTF8.self) }

    var column: ColumnValue { .text(text) }
}
