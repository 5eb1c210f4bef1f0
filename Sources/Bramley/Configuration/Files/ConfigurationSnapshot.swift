internal import Crypto

/// The values of all keys, to tell which have changed. Stored as digests: no secret is kept a second time.
package struct ConfigurationSnapshot: Hashable, Sendable {
    /// The digest of each key's value, given or default.
    private var digests: [String: Digest256] = [:]

    package init() {}

    init(_ given: [String: FileValue]) {
        for key in ConfigurationTable.keys {
            guard let value = given[key.name] ?? key.presence.value else { continue }
            digests[key.name] = SHA256.hash(utf8: "\(value)")
        }
    }

    /// The keys that changed, in the order of the reference.
    func changes(since before: ConfigurationSnapshot) -> [String] {
        ConfigurationTable.keys.map(\.name).filter { digests[$0] != before.digests[$0] }
    }
}
