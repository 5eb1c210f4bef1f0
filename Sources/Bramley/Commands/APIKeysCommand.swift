package import Accounts
package import ArgumentParser
package import Coding
internal import Storage
internal import Web

/// `bramley api-keys`
package struct APIKeysCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "api-keys", abstract: "Manage the keys that applications use for the API.",
        subcommands: [APIKeysCreateCommand.self, APIKeysListCommand.self, APIKeysRevokeCommand.self])

    package init() {}
}

/// `bramley api-keys create`
package struct APIKeysCreateCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "create", abstract: "Create a key and print it once.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions

    @Argument(help: "A name for the key, such as the application that uses it.")
    package var name: String

    @Option(
        help: ArgumentHelp(
            "Scopes, comma-separated: \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "scopes"))
    package var scopes: String

    @Option(
        help: ArgumentHelp(
            """
            When the key expires: an age such as 90d, or a UTC time such as 2027-01-02 or 2027-01-02T03:04:05Z. Without \
            it, the key is valid until revoked.
            """, valueName: "time"))
    package var expires: ExpiryArgument?

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
            let now = place.now
            let end = expires?.moment(at: now)
            if let end, end <= now { throw CommandFailure.usage("--expires is in the past: \(end.rfc3339).") }
            let token = APIKeyToken.make(random: place.random)
            let key = APIKey(
                id: place.identifiers.make(), name: name, scopes: scopes, createdAt: now, expiresAt: end)
            try await place.database.createAPIKey(key, hash: token.hash)
            if output.json {
                try CommandOutput.json { APIKeyDocument.write(key, token: token, to: &$0) }
            } else {
                try CommandOutput.line(token.reveal())
            }
            let life = end.map { " It expires at \($0.rfc3339)." } ?? ""
            CommandOutput.remark(
                "\(key.id): keep the key now; it is not shown again, and the database does not hold it. "
                    + "Revoke it with bramley api-keys revoke \(key.id)." + life)
        }
    }
}

/// `bramley api-keys list`
package struct APIKeysListCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all keys, including revoked and expired ones, oldest first. Secrets are not shown."
    )

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var page: PageOptions

    @Flag(help: "Only valid keys: neither revoked nor expired.")
    package var active = false

    @Option(help: ArgumentHelp("Only keys with this scope.", valueName: "scope"))
    package var scope: String?

    package init() {}

    package func validate() throws {
        if let scope { _ = try APIKeyRules.scopes(scope) }
    }

    package func run() async throws {
        try await OperatorDatabase.with(options) { place in
            let scopes = try scope.map(APIKeyRules.scopes) ?? []
            let keys = try await place.database.apiKeys().filter { key in
                (!active || key.revokedAt == nil && !key.isExpired(at: place.now))
                    && scopes.allSatisfy(key.scopes.contains)
            }
            let style = CommandOutput.tableStyle
            let list = CommandList<APIKey>(
                [
                    .init("ID"), .init("NAME", flexible: true), .init("SCOPES", flexible: true), .init("CREATED"),
                    .init("LAST USED"), .init("EXPIRES"), .init("REVOKED"),
                ],
                empty: "No keys.",
                row: { key in
                    [
                        key.id.rawValue, key.name, key.scopes.map(\.rawValue).joined(separator: ","),
                        key.createdAt.shown(style), key.lastUsedAt?.shown(style), key.expiresAt?.shown(style),
                        key.revokedAt?.shown(style),
                    ]
                }, document: { APIKeyDocument.write($0, to: &$1) })
            try await list.show(page, json: output.json) { after, limit in
                let start =
                    after.flatMap { place in keys.firstIndex { $0.id.rawValue == place.id } }.map { $0 + 1 } ?? 0
                let items = Array(keys[start...].prefix(limit))
                let last = start + items.count < keys.count ? items.last : nil
                return (items, last.map { CommandCursor.encode($0.createdAt, $0.id.rawValue) })
            }
        }
    }
}

/// `bramley api-keys revoke`
package struct APIKeysRevokeCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke a key. The next request with it is refused.")

    @OptionGroup package var options: OperatorOptions
    @OptionGroup package var output: OutputOptions
    @OptionGroup package var confirmation: ConfirmationOptions

    @Argument(help: "The key's id, key_…; never the key itself.")
    package var id: String

    package init() {}

    package func validate() throws {
        // Does not repeat the key itself: it would be in a terminal's history twice.
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
                "The application that uses \(key.id) (\(key.name)) can no longer call the API.", id: id.rawValue)
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

/// Valid names and scopes of a key.
package enum APIKeyRules {
    /// Bytes of UTF-8.
    package static let nameLimit = 100

    package static func accepts(name: String) -> Bool { PlainLine.acceptsName(name, maximum: nameLimit) }

    /// `users:read,introspect` in the order of `APIScope`, each once.
    /// - Throws: `ValidationError` for an unknown scope, or for none at all.
    package static func scopes(_ text: String) throws -> [APIScope] {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        let named = try words.map { word in
            guard let scope = APIScope(rawValue: word) else {
                throw ValidationError(
                    "\(LogEscaping.escaped(word).quoted) is not a scope. Scopes: "
                        + APIScope.allCases.map(\.rawValue).joined(separator: ", "))
            }
            return scope
        }
        return APIScope.allCases.filter(named.contains)
    }
}

/// When a key expires: a time, or how long from now.
package struct ExpiryArgument: Hashable, Sendable, ExpressibleByArgument {
    private let argument: MomentArgument

    package init?(argument: String) {
        guard let moment = MomentArgument(argument: argument) else { return nil }
        self.argument = moment
    }

    package func moment(at now: Timestamp) -> Timestamp {
        argument.secondsAgo.map { now.adding(seconds: $0) } ?? argument.moment(at: now)
    }
}
