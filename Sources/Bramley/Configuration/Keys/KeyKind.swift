import Accounts
import Coding
import HTTP
import Sockets
import Web

/// How the value of a key is written, and its type in `Configuration`.
struct KeyKind<Value: Sendable>: Sendable {
    let type: KeyType
    /// For the schema, as in `ConfigurationKey`.
    var pattern: String?
    var entries: [String]?
    /// The value of the key with that name, or its default. Nil when there is neither, and after a problem, which is
    /// then reported.
    let read: @Sendable (ConfigurationBuilder, _ name: String) -> Value?

    init(
        _ type: KeyType, pattern: String? = nil, entries: [String]? = nil,
        read: @escaping @Sendable (ConfigurationBuilder, _ name: String) -> Value?
    ) {
        self.type = type
        self.pattern = pattern
        self.entries = entries
        self.read = read
    }

    /// A text that `parse` turns into the value, or reports.
    static func parsed(
        pattern: String? = nil, _ parse: @escaping @Sendable (ConfigurationBuilder, String, String) -> Value?
    ) -> Self {
        Self(.text, pattern: pattern) { builder, name in
            builder.values.text(name).flatMap { parse(builder, name, $0) }
        }
    }
}

extension KeyKind where Value: FixedWidthInteger {
    static func integer(_ range: ClosedRange<Int>, _ unit: String = "") -> Self {
        Self(.integer(range, unit: unit)) { $0.values.integer($1).map { Value(clamping: $0) } }
    }

    /// Written in seconds, stored in milliseconds.
    static func milliseconds(_ seconds: ClosedRange<Int>) -> Self {
        Self(.integer(seconds, unit: "seconds")) { $0.values.integer($1).map { Value(clamping: $0) * 1000 } }
    }
}

extension KeyKind where Value: CaseIterable & RawRepresentable<String> {
    static var choice: Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(.choice(words)) { builder, name in
            guard let word = builder.values.text(name) else { return nil }
            if let choice = Value(rawValue: word) { return choice }
            builder.values.fail(
                name, "is \(word.quoted).", "Write one of \(words.map { "\"\($0)\"" }.joined(separator: ", ")).")
            return nil
        }
    }
}

extension KeyKind where Value == Bool {
    static var boolean: Self { Self(.boolean) { $0.values.boolean($1) } }
}

extension KeyKind where Value == Int {
    /// - Parameter full: the number of pixels for `100%`.
    static func length(_ range: ClosedRange<Int>, full: Int) -> Self {
        Self(.length(range)) { builder, name in builder.length(name, range).map { $0 ?? full } }
    }
}

extension KeyKind where Value == Int? {
    /// `100%` is nil.
    static func length(_ range: ClosedRange<Int>) -> Self {
        Self(.length(range)) { builder, name in builder.length(name, range) }
    }
}

extension KeyKind where Value == String {
    static var text: Self { Self(.text) { $0.values.text($1) } }
    /// An https URL for a link, or a path of the site.
    static var link: Self { .parsed { $0.link($1, $2) } }
    /// A link, or `mailto:` with an address.
    static var supportLink: Self { .parsed { $0.supportLink($1, $2) } }
    /// The origin of a URL without a path.
    static var origin: Self { .parsed { $0.origin($1, $2)?.origin } }
    /// The address of Apple's script, which may contain `{locale}`.
    static var scriptURL: Self { .parsed { $0.scriptAddress($1, $2) == nil ? nil : $2 } }
    static var directory: Self { .parsed { ConfigurationBuilder.withoutSlash($2) } }
    static var databaseDirectory: Self { .parsed { $0.databaseDirectory($1, $2) } }
    static var clientID: Self {
        .parsed(pattern: #"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$"#) { $0.isClientID($2, $1) ? $2 : nil }
    }

    /// - Parameters:
    ///   - what: such as "a key ID".
    ///   - remedy: where to find it.
    static func tenCharacters(_ what: String, _ remedy: String) -> Self {
        .parsed(pattern: "^[A-Z0-9]{10}$") { $0.tenCharacters($1, $2, what, remedy) }
    }

    static var keyID: Self {
        .tenCharacters(
            "a key ID", "Copy it from the name of the .p8 file: AuthKey_F6G7H8I9J0.p8 is F6G7H8I9J0.")
    }
}

extension KeyKind where Value == [String] {
    static var list: Self { Self(.list) { $0.values.list($1) } }
    /// Exact origins, with TLS or on this machine.
    static var origins: Self { Self(.list) { $0.origins($1) } }
    static var clientIDs: Self {
        Self(.list) { builder, name in
            builder.values.list(name).flatMap { list in list.allSatisfy { builder.isClientID($0, name) } ? list : nil }
        }
    }
    static var scopes: Self { Self(.list, entries: ["name", "email"]) { $0.scopes($1) } }
    static var issuers: Self { Self(.list) { $0.issuers($1) } }
}

extension KeyKind where Value == PublicURL {
    static var publicURL: Self {
        .parsed(pattern: "^https?://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$") { $0.publicURL($1, $2) }
    }
}

extension KeyKind where Value == IPAddress {
    static var ipAddress: Self {
        .parsed { builder, name, text in
            if let address = IPAddress(text) { return address }
            builder.values.fail(
                name, "is \(text.quoted), which is not an IP address.",
                "Write an IPv4 or IPv6 address such as 127.0.0.1 or ::1 (without brackets); 0.0.0.0 or :: for all.")
            return nil
        }
    }
}

extension KeyKind where Value == [IPNetwork] {
    static var networks: Self { Self(.list) { $0.networks($1) } }
}
