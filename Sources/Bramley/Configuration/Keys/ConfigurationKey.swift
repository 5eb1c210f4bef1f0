/// One documented key. Loading, `bramley check`, messages about unknown names, the schema and
/// `docs/reference/configuration.md` use the same entries of `ConfigurationTable`.
package struct ConfigurationKey: Sendable {
    /// The dotted name, such as `server.limits.body`.
    package let name: String
    package let type: KeyType
    package let presence: KeyPresence
    /// Values of a secret key appear in no message, log or page, and are refused on the command line.
    package var isSecret = false
    /// The other spelling (`apple.privateKey` and `apple.privateKeyFile`); both together are an error.
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
    package let meaning: String
    /// Reads the value and stores it; nil for a key that a step of `ConfigurationBuilder` reads together with others.
    var store: (@Sendable (ConfigurationBuilder, inout Configuration) -> Void)?
}

extension ConfigurationKey {
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

    init<Value: Sendable>(
        _ name: String, _ kind: KeyKind<Value>,
        into property: any WritableKeyPath<Configuration, Value?> & Sendable, twin: String? = nil,
        example: String? = nil, _ meaning: String
    ) {
        self.init(name, kind, .optional, example: example, meaning)
        self.twin = twin
        store = { builder, configuration in
            configuration[keyPath: property] = builder.value(name).flatMap { kind.parse(builder, name, $0) }
        }
    }

    init<Value: Sendable>(
        _ name: String, _ kind: KeyKind<Value>, _ presence: KeyPresence, example: String? = nil,
        acceptsOneText: Bool = false, _ meaning: String
    ) {
        self.init(
            name: name, type: kind.type, presence: presence, acceptsOneText: acceptsOneText, example: example,
            pattern: kind.pattern, entries: kind.entries, meaning: meaning)
    }

    /// A key that names a file, and its twin that contains the text itself. A step reads them.
    /// - Parameter isEachSeveral: one file, or one for each entry of another list.
    static func twins(
        _ name: String, type: KeyType = .text, presence: KeyPresence = .optional, isSecret: Bool = true,
        holdsLines: Bool = false, isEachSeveral: Bool = false, example: String? = nil, _ meaning: String,
        inline inlineMeaning: String
    ) -> [ConfigurationKey] {
        let inlinePresence: KeyPresence = if case .derived = presence { .optional } else { presence }
        let inlineName = name.replacing("File", with: "")
        return [
            ConfigurationKey(
                name: name, type: type, presence: presence, twin: inlineName, acceptsOneText: isEachSeveral,
                mayRepeat: isEachSeveral, example: example, meaning: meaning),
            ConfigurationKey(
                name: inlineName, type: type, presence: inlinePresence, isSecret: isSecret, twin: name,
                holdsLines: holdsLines, acceptsOneText: isEachSeveral, mayRepeat: isEachSeveral, meaning: inlineMeaning),
        ]
    }

    package var components: [String] { name.split(separator: ".").map(String.init) }

    /// Whether it names files or a folder: a relative path in the file is resolved against the file's own folder.
    package var isPath: Bool { ["File", "Files", "directory"].contains { name.hasSuffix($0) } }

    /// `apple.servicesID` → `BRAMLEY_APPLE_SERVICES_ID`
    package var environmentName: String { "BRAMLEY_" + shoutedName }

    /// `apple.servicesID` → `--apple-services-id`
    package var flagName: String { "--" + shoutedName.lowercased().replacing("_", with: "-") }

    private var shoutedName: String {
        name.replacing(/([a-z])([A-Z])/) { "\($0.1)_\($0.2)" }.replacing(".", with: "_").uppercased()
    }

    /// The meaning for a terminal, without Markdown.
    var plainMeaning: String { meaning.replacing("`", with: "").replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 } }

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

package enum KeyPresence: Hashable, Sendable {
    case required
    case optional
    case requiredUnlessTwin
    case `default`(FileValue)
    /// A default that depends on other keys, described in words.
    case derived(String)

    package var value: FileValue? { if case .default(let value) = self { value } else { nil } }
}
