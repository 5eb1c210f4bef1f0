package import ArgumentParser
package import RelyingParty
internal import Storage
internal import Web

/// `bramley api-keys`
package struct APIKeysCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "api-keys", abstract: "The keys applications call the API with.",
        subcommands: [APIKeysCreateCommand.self, APIKeysListCommand.self, APIKeysRevokeCommand.self])

    package init() {}
}

/// `bramley api-keys create`
package struct APIKeysCreateCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Make a key and print it, this once.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    @Argument(help: "What you call it: the application that will use it.")
    package var name: String

    @Option(
        help: ArgumentHelp(
            "What it allows, separated by commas: \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "scopes"))
    package var scopes: String

    package init() {}

    package func validate() throws {
        guard APIKeyRules.accepts(name: name) else {
            throw ValidationError("The name has 1 to \(APIKeyRules.nameLimit) bytes and no control characters.")
        }
        _ = try APIKeyRules.scopes(scopes)
    }

    package func run() async throws {
        let scopes = try APIKeyRules.scopes(scopes)
        try await OperatorDatabase.with(options) { place in
            let token = APIKeyToken.make(random: place.random)
            let key = APIKey(id: place.identifiers.make(), name: name, scopes: scopes, createdAt: place.now)
            try await place.database.createAPIKey(key, hash: token.hash)
            if output.json {
                try CommandOutput.json { APIKeyDocument.write(key, token: token, to: &$0) }
            } else {
                try CommandOutput.line(token.reveal())
            }
            CommandOutput.remark(
                "\(key.id): keep the key now; it is not shown again, and the database does not hold it. "
                    + "Revoke it with bramley api-keys revoke \(key.id).")
        }
    }
}

/// `bramley api-keys list`
package struct APIKeysListCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "list", abstract: "All keys, revoked ones included, oldest first. Never their secrets.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    package init() {}

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let keys = try await place.database.apiKeys()
            if output.json {
                try CommandOutput.jsonList(keys, next: nil) { APIKeyDocument.write($0, to: &$1) }
                return
            }
            let style = CommandOutput.tableStyle
            try CommandOutput.table(
                TextTable(
                    [
                        .init("ID"), .init("NAME", flexible: true), .init("SCOPES", flexible: true), .init("CREATED"),
                        .init("LAST USED"), .init("REVOKED"),
                    ],
                    rows: keys.map { key in
                        [
                            key.id.rawValue, key.name, key.scopes.map(\.rawValue).joined(separator: ","),
                            key.createdAt.shown(style), key.lastUsedAt?.shown(style), key.revokedAt?.shown(style),
                        ]
                    }))
            if keys.isEmpty { CommandOutput.hint("No keys.") }
        }
    }
}

/// `bramley api-keys revoke`
package struct APIKeysRevokeCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "End a key: the next request with it is refused.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Argument(help: "The key's id, key_…; never the key itself.")
    package var id: String

    package init() {}

    package func validate() throws {
        // The key itself is not repeated: it would stand in a terminal's history twice.
        guard APIKeyID(parsing: id) != nil else {
            throw ValidationError("Name the key by its id, key_ and 26 characters, as bramley api-keys list shows it.")
        }
    }

    package func run() async throws {
        let id = APIKeyID(unchecked: id)
        try await OperatorDatabase.with(options) { place in
            guard let key = try await place.database.apiKeys().first(where: { $0.id == id }), key.revokedAt == nil
            else { throw CommandFailure("There is no key \(id), or it is revoked.") }
            try confirmation.confirm(
                "The application that uses \(key.id) (\(key.name)) can call the API no more.", id: id.rawValue)
            let now = place.now
            guard try await place.database.revokeAPIKey(id, at: now) else {
                throw CommandFailure("There is no key \(id), or it is revoked.")
            }
            var revoked = key
            revoked.revokedAt = now
            if output.json {
                try CommandOutput.json { APIKeyDocument.write(revoked, to: &$0) }
            } else {
                try CommandOutput.line("\(id) revoked")
            }
        }
    }
}

/// What a key may be called and allow.
package enum APIKeyRules {
    /// UTF-8 bytes of a name.
    package static let nameLimit = 100

    package static func accepts(name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= nameLimit
            && !name.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// `users:read,introspect` in the order of `APIScope`, each once.
    /// - Throws: `ValidationError` for a word that is none, or for none at all.
    package static func scopes(_ text: String) throws -> [APIScope] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let named = try words.map { word in
            guard let scope = APIScope(rawValue: word) else {
                throw ValidationError(
                    "\(LogEscaping.escaped(word).quoted) is no scope. Scopes: "
                        + APIScope.allCases.map(\.rawValue).joined(separator: ", "))
            }
            return scope
        }
        return APIScope.allCases.filter(named.contains)
    }
}
