/// One documented key of the configuration: what it means, what may stand there, and what happens without it.
///
/// `ConfigurationTable` lists them all. Loading, `bramley check`, the messages about unknown names and
/// `docs/configuration.md` read the same entries, so that they cannot disagree.
package struct ConfigurationKey: Sendable {
    /// The dotted name, such as `server.limits.body`.
    package var name: String
    package var type: KeyType
    package var presence: KeyPresence
    /// Values of a secret key appear in no message, log or page, and are refused on the command line.
    package var isSecret: Bool = false
    /// The same setting spelt the other way (`apple.privateKey` and `apple.privateKeyFile`); both at once is an error.
    package var twin: String?
    /// A text of several lines may stand there, such as PEM.
    var holdsLines: Bool = false
    /// In the file a list of one may be written as the text alone.
    package var acceptsOneText: Bool = false
    /// Entries of a list may be the same: they belong to those of another list, in order.
    var mayRepeat: Bool = false
    /// What to write, as it stands in the file; every required key has one.
    package var example: String?
    /// A regular expression that every good text matches, for the schema. Looser than the rules of the loader is right,
    /// stricter is not: editors would complain about what works. Of a list with `entries`: what else an entry may be.
    package var pattern: String?
    /// The words a list may hold; nil when any text may stand there.
    package var entries: [String]?
    /// One or two sentences for the reference.
    package var meaning: String

    /// `server.limits.body` → `["server", "limits", "body"]`
    package var components: [String] { name.split(separator: ".").map(String.init) }

    /// Whether it names files or a folder: a relative path in the file begins at the file's own folder.
    package var isPath: Bool { ["File", "Files", "directory"].contains { name.hasSuffix($0) } }

    /// `apple.servicesID` → `BRAMLEY_APPLE_SERVICES_ID`
    package var environmentName: String { "BRAMLEY_" + shoutedName }

    /// `apple.servicesID` → `--apple-services-id`
    package var flagName: String {
        "--" + shoutedName.lowercased().split(separator: "_").joined(separator: "-")
    }

    /// `apple.servicesID` → `APPLE_SERVICES_ID`: the spelling swift-configuration's environment provider looks for.
    package var shoutedName: String {
        var result = ""
        var previous: Character?
        for character in name {
            if character == "." {
                result.append("_")
            } else {
                if let previous, previous.isLowercase, character.isUppercase { result.append("_") }
                result.append(contentsOf: character.uppercased())
            }
            previous = character
        }
        return result
    }
}

/// What may stand at a key.
package enum KeyType: Hashable, Sendable {
    case text
    /// A whole number within the range; `unit` is for people: "seconds", "bytes", or empty for a count.
    case integer(ClosedRange<Int>, unit: String)
    case boolean
    /// A list of texts; comma-separated in the environment and in flags.
    case list
    /// One of the words.
    case choice([String])
    /// A whole number of pixels within the range, or the text `100%`.
    case length(ClosedRange<Int>)
}

/// Whether a key must be given, and what holds when it is not.
package enum KeyPresence: Hashable, Sendable {
    case required
    case optional
    /// Required unless its twin is given.
    case requiredUnlessTwin
    case text(String)
    case integer(Int)
    case boolean(Bool)
    case list([String])
    /// A default that follows from other keys, in words.
    case derived(String)
}
