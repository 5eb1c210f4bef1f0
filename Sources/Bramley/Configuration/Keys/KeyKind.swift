import Accounts
import HTTP
import Sockets
import Web

/// How the value of a key is written, and its type in `Configuration`.
struct KeyKind<Value: Sendable>: Sendable {
    let type: KeyType
    /// For the schema, as in `ConfigurationKey`.
    var pattern: String?
    var entries: [String]?
    /// The property's value for what is given, which is of `type`. Nil after a problem, which is then reported.
    let parse: @Sendable (ConfigurationBuilder, _ name: String, FileValue) -> Value?
    let write: @Sendable (Value) -> FileValue

    static func text(
        pattern: String? = nil, _ read: @escaping @Sendable (ConfigurationBuilder, String) throws(InputFlaw) -> Value?,
        write: @escaping @Sendable (Value) -> String
    ) -> Self {
        Self(
            type: .text, pattern: pattern,
            parse: { builder, name, value in
                value.text.flatMap { builder.reading(name, $0) { text throws(InputFlaw) in try read(builder, text) } }
            }, write: { .text(write($0)) })
    }

    /// A list; every entry's flaw is reported.
    static func list<Entry>(
        entries: [String]? = nil, _ read: @escaping @Sendable (String) throws(InputFlaw) -> Entry,
        write: @escaping @Sendable (Entry) -> String
    ) -> Self where Value == [Entry] {
        Self(
            type: .list, entries: entries,
            parse: { builder, name, value in
                guard let texts = value.list else { return nil }
                let good = texts.compactMap { builder.reading(name, $0, read) }
                return good.count == texts.count ? good : nil
            }, write: { .list($0.map(write)) })
    }
}

extension KeyKind where Value: FixedWidthInteger {
    static func integer(_ range: ClosedRange<Int>, _ unit: String = "") -> Self {
        Self(
            type: .integer(range, unit: unit), parse: { $2.integer.map { Value(clamping: $0) } },
            write: { .integer(Int(clamping: $0)) })
    }

    /// Written in seconds, stored in milliseconds.
    static func milliseconds(_ seconds: ClosedRange<Int>) -> Self {
        Self(
            type: .integer(seconds, unit: "seconds"), parse: { $2.integer.map { Value(clamping: $0) * 1000 } },
            write: { .integer(Int(clamping: $0 / 1000)) })
    }
}

extension KeyKind where Value: CaseIterable & RawRepresentable<String> {
    static var choice: Self {
        Self(
            type: .choice(Value.allCases.map(\.rawValue)), parse: { $2.text.flatMap { Value(rawValue: $0) } },
            write: { .text($0.rawValue) })
    }
}

extension KeyKind where Value == Bool {
    static var boolean: Self { Self(type: .boolean, parse: { $2.boolean }, write: { .boolean($0) }) }

    /// One of two words; the second is true.
    static func choice(_ no: String, _ yes: String) -> Self {
        Self(type: .choice([no, yes]), parse: { $2.text.map { $0 == yes } }, write: { .text($0 ? yes : no) })
    }
}

extension KeyKind where Value == Int {
    static func length(_ range: ClosedRange<Int>, full: Int) -> Self {
        Self(type: .length(range), parse: { $2.integer ?? full }, write: { .integer($0) })
    }
}

extension KeyKind where Value == Int? {
    /// `100%` is nil.
    static func length(_ range: ClosedRange<Int>) -> Self {
        Self(type: .length(range), parse: { .some($2.integer) }, write: { $0.map { .integer($0) } ?? "100%" })
    }
}

extension KeyKind where Value == String {
    static var text: Self { text { $0 } }
    static var link: Self { text(WebAddress.link) }
    static var supportLink: Self { text(WebAddress.supportLink) }
    static var origin: Self { text(WebAddress.origin) }
    static var scriptURL: Self { text(AppleHosts.script) }
    static var directory: Self { text(ConfigurationBuilder.withoutSlash) }
    static var databaseDirectory: Self {
        text({ (builder, text) throws(InputFlaw) in try builder.databaseDirectory(text) }, write: { $0 })
    }
    static var clientID: Self { text(pattern: #"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$"#, AppleIdentifier.client) }
    static var teamID: Self { text(pattern: "^[A-Z0-9]{10}$", AppleIdentifier.team) }
    static var keyID: Self { text(pattern: "^[A-Z0-9]{10}$", AppleIdentifier.key) }

    private static func text(
        pattern: String? = nil, _ read: @escaping @Sendable (String) throws(InputFlaw) -> String
    ) -> Self { text(pattern: pattern, { (_, text) throws(InputFlaw) in try read(text) }, write: { $0 }) }
}

extension KeyKind where Value == SiteLogo {
    /// A file, read at start.
    static var logo: Self {
        Self(type: .text, parse: { $2.text.flatMap($0.readLogo) }, write: { .text($0.name) })
    }
}

extension KeyKind where Value == AccentColor {
    static var accentColor: Self {
        text(
            pattern: "^#[0-9A-Fa-f]{6}$", { (_, text) throws(InputFlaw) in try AccentColor.read(text) },
            write: \.text)
    }
}

extension KeyKind where Value == [String] {
    static var list: Self { list { $0 } }
    static var origins: Self { list(WebAddress.exactOrigin) }
    static var clientIDs: Self { list(AppleIdentifier.client) }
    static var documentHosts: Self { list(WebAddress.documentHost) }
    static var scopes: Self { list(entries: ["name", "email"], AppleIdentifier.scope) }
    static var issuers: Self { list { text throws(InputFlaw) in try WebAddress.secure(text).text } }

    static var webhookEvents: Self {
        var kind = list(entries: JournalEntry.Kind.allCases.map(\.rawValue)) { $0 }
        kind.pattern = #"^https?://\S+( +[a-z]+\.[a-z]+)+ *$"#
        return kind
    }

    private static func list(
        entries: [String]? = nil, _ read: @escaping @Sendable (String) throws(InputFlaw) -> String
    ) -> Self { list(entries: entries, read) { $0 } }
}

extension KeyKind where Value == PublicURL {
    static var publicURL: Self {
        text(
            pattern: "^https?://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*$",
            { (builder, text) throws(InputFlaw) in
                try PublicURL.read(
                    text, isSimulated: builder.input.simulatedApple != .refused && builder.isGiven("apple.endpoint"))
            }, write: { $0.absolute })
    }
}

extension KeyKind where Value == IPAddress {
    static var ipAddress: Self {
        text({ (_, text) throws(InputFlaw) in try IPAddress.read(text) }, write: { "\($0)" })
    }
}

extension KeyKind where Value == [IPNetwork] {
    static var networks: Self { list(IPNetwork.read) { "\($0)" } }
}
