/// One documented key: its name, its possible values, its default, and the property of `Configuration` that stores its
/// value.
///
/// `ConfigurationTable` lists them all. Loading, `bramley check`, the messages about unknown names, the schema and
/// `docs/reference/configuration.md` use the same entries.
package struct ConfigurationKey: Sendable {
    /// The dotted name, such as `server.limits.body`.
    package let name: String
    package let type: KeyType
    package let presence: KeyPresence
    /// Values of a secret key appear in no message, log or page, and are refused on the command line.
    package var isSecret = false
    /// The other spelling of the same setting (`apple.privateKey` and `apple.privateKeyFile`); both together are an
    /// error.
    package var twin: String?
    /// Whether the text may have several lines, such as PEM.
    var holdsLines = false
    /// Whether a list with one entry may be written as a text in the file.
    package var acceptsOneText = false
    /// Whether a list's entries may be equal, because they belong to those of another list, in order.
    var mayRepeat = false
    /// An example value, as in the file. Every required key has one.
    package var example: String?
    /// A regular expression that every valid text matches, for the schema. It may be looser than the loader's rules,
    /// not stricter: editors would complain about valid files. For a list with `entries`: what else an entry may be.
    package var pattern: String?
    /// The possible entries of a list; nil when any text is allowed.
    package var entries: [String]?
    /// One or two sentences for the reference.
    package let meaning: String
    /// Reads the value and stores it; nil for a key that a step of `ConfigurationBuilder` reads together with others.
    private(set) var store: (@Sendable (ConfigurationBuilder, inout Configuration) -> Void)?

    /// What every property begins with: the defaults.
    private static let initial = Configuration()

    /// A key whose default is what its property begins with.
    /// - Parameter presence: given where it has no default, or one that depends on other keys.
    init<Value: Sendable>(
        _ name: String, _ kind: KeyKind<Value>, _ presence: KeyPresence? = nil,
        into property: any WritableKeyPath<Configuration, Value> & Sendable, example: String? = nil, _ meaning: String
    ) {
        self.init(
            name, kind, presence ?? .default(kind.write(Self.initial[keyPath: property])), example: example, meaning)
        store = { builder, configuration in
            guard let value = builder.value(name).flatMap({ kind.parse(builder, name, $0) }) else { return }
            configuration[keyPath: property] = value
        }
    }

    /// An optional key; without it the property stays nil.
    init<Value: Sendable>(
        _ name: String, _ kind: KeyKind<Value>,
        into property: any WritableKeyPath<Configuration, Value?> & Sendable, example: String? = nil, _ meaning: String
    ) {
        self.init(name, kind, .optional, example: example, meaning)
        store = { builder, configuration in
            configuration[keyPath: property] = builder.value(name).flatMap { kind.parse(builder, name, $0) }
        }
    }

    /// A key that a step of `ConfigurationBuilder` reads.
    init<Value: Sendable>(
        _ name: String, _ kind: KeyKind<Value>, _ presence: KeyPresence, example: String? = nil,
        acceptsOneText: Bool = false, _ meaning: String
    ) {
        self.init(name, kind.type, presence, meaning)
        (self.example, pattern, entries) = (example, kind.pattern, kind.entries)
        self.acceptsOneText = acceptsOneText
    }

    private init(_ name: String, _ type: KeyType, _ presence: KeyPresence, _ meaning: String) {
        self.name = name
        self.type = type
        self.presence = presence
        self.meaning = meaning
    }

    /// A key that names a file, and its twin that contains the text itself: `apple.privateKeyFile` and
    /// `apple.privateKey`. A step reads them.
    /// - Parameter isEachSeveral: one file, or one for each entry of another list.
    static func twins(
        _ name: String, type: KeyType = .text, presence: KeyPresence = .optional, isSecret: Bool = true,
        holdsLines: Bool = false, isEachSeveral: Bool = false, example: String? = nil, _ meaning: String,
        inline inlineMeaning: String
    ) -> [ConfigurationKey] {
        let inlinePresence: KeyPresence =
            if case .derived = presence { .optional } else { presence }
        var file = ConfigurationKey(name, type, presence, meaning)
        var inline = ConfigurationKey(name.replacing("File", with: ""), type, inlinePresence, inlineMeaning)
        file.example = example
        (file.twin, inline.twin) = (inline.name, file.name)
        (file.acceptsOneText, inline.acceptsOneText) = (isEachSeveral, isEachSeveral)
        (file.mayRepeat, inline.mayRepeat) = (isEachSeveral, isEachSeveral)
        (inline.isSecret, inline.holdsLines) = (isSecret, holdsLines)
        return [file, inline]
    }

    /// `server.limits.body` → `["server", "limits", "body"]`
    package var components: [String] { name.split(separator: ".").map(String.init) }

    /// Whether it names files or a folder: a relative path in the file is resolved against the file's own folder.
    package var isPath: Bool { ["File", "Files", "directory"].contains { name.hasSuffix($0) } }

    /// `apple.servicesID` → `BRAMLEY_APPLE_SERVICES_ID`
    package var environmentName: String { "BRAMLEY_" + shoutedName }

    /// `apple.servicesID` → `--apple-services-id`
    package var flagName: String {
        "--" + shoutedName.lowercased().replacing("_", with: "-")
    }

    /// `apple.servicesID` → `APPLE_SERVICES_ID`
    private var shoutedName: String {
        name.replacing(/([a-z])([A-Z])/) { "\($0.1)_\($0.2)" }.replacing(".", with: "_").uppercased()
    }

    /// The meaning for a terminal, without Markdown.
    var plainMeaning: String {
        meaning.replacing("`", with: "").replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }
    }

    /// What to write, as a sentence.
    var advice: String {
        if let example { return "Write \(example)." }
        switch type {
        case .integer(let range, _), .length(let range):
            return "Write only digits, such as \(presence.value?.integer ?? range.upperBound)."
        case .boolean: return "Write true or false, without quotation marks."
        case .list: return "Write texts in square brackets, such as [\"one\", \"two\"], or []."
        case .choice(let words): return "Write \"\(words.first ?? "")\"."
        case .text: return "Write it in quotation marks."
        }
    }
}

/// Whether a key is required, and its default.
package enum KeyPresence: Hashable, Sendable {
    case required
    case optional
    /// Required unless its twin is given.
    case requiredUnlessTwin
    case `default`(FileValue)
    /// A default that depends on other keys, described in words.
    case derived(String)

    /// The default, unless it depends on other keys.
    package var value: FileValue? {
        if case .default(let value) = self { value } else { nil }
    }
}
