internal import Accounts
import ArgumentParser
internal import Coding

struct APIKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api-keys", abstract: "Manage the keys that applications use for the API.",
        subcommands: [Create.self, List.self, Revoke.self])

    struct Create: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Create a key and print it once.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "A name for the key, such as the application that uses it.") var name: String

        @Option(
            help: ArgumentHelp(
                "Scopes, comma-separated: \(APIScope.allCases.map(\.rawValue).joined(separator: ", ")).",
                valueName: "scopes"))
        var scopes: String

        @Option(
            help: ArgumentHelp(
                """
                When the key expires: a duration such as 90d, or a UTC time such as 2027-01-02 or 2027-01-02T03:04:05Z. \
                Without it, the key is valid until revoked.
                """, valueName: "time"))
        var expires: MomentArgument?

        func validate() throws {
            guard APIKey.accepts(name: name) else {
                throw ValidationError("The name must have 1 to \(APIKey.nameLimit) bytes and no control characters.")
            }
            _ = try APIKeysCommand.scopes(scopes)
        }

        func run(on context: OperatorDatabase) async throws {
            let scopes = try APIKeysCommand.scopes(scopes)
            let now = context.now
            let end = expires?.moment(after: now)
            if let end, end <= now { throw CommandFailure.usage("--expires is in the past: \(end.rfc3339).") }
            let (key, token) = try await context.database.createAPIKey(
                named: name, scopes: scopes, expiresAt: end, random: context.random, at: now)
            try options.show(token.reveal(), key, APIKey.fields(with: token))
            let life = end.map { " It expires at \($0.rfc3339)." } ?? ""
            CommandOutput.remark(
                "\(key.id): save the key now. It is not shown again, and only its hash is stored. "
                    + "Revoke it with bramley api-keys revoke \(key.id)." + life)
        }
    }

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all keys, including revoked and expired ones, oldest first. Secrets are not shown."
        )

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions
        @Flag(help: "Only valid keys: neither revoked nor expired.") var active = false
        @Option(help: ArgumentHelp("Only keys with this scope.", valueName: "scope")) var scope: String?

        func validate() throws {
            if let scope { _ = try APIKeysCommand.scopes(scope) }
        }

        func run(on context: OperatorDatabase) async throws {
            let scopes = try scope.map(APIKeysCommand.scopes) ?? []
            let keys = try await context.database.apiKeys().filter { key in
                (!active || key.revokedAt == nil && !key.isExpired(at: context.now))
                    && scopes.allSatisfy(key.scopes.contains)
            }
            try await page.show(
                [
                    .init("ID") { .code($0.id.rawValue) }, .init("NAME", flexible: true) { .text($0.name) },
                    .init("SCOPES", flexible: true, optional: true) {
                        .text($0.scopes.map(\.rawValue).joined(separator: ","))
                    },
                    .init("CREATED", optional: true) { .time($0.createdAt) },
                    .init("LAST USED", optional: true) { .time($0.lastUsedAt) },
                    .init("EXPIRES", optional: true) { .time($0.expiresAt) }, .init("REVOKED") { .time($0.revokedAt) },
                ], APIKey.fields, .apiKeys, empty: "No keys.", json: options.json
            ) { after, limit in Page(of: keys, after: after, limit: limit, by: \.id.rawValue) }
        }
    }

    struct Revoke: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Revoke a key. The next request with it is refused.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: "The key's id, key_…, not the key itself.") var id: String

        func validate() throws {
            // Does not repeat the key itself: it would be in a terminal's history twice.
            guard APIKeyID(parsing: id) != nil else {
                throw ValidationError("Pass the key's id, key_ and 26 characters, as shown by bramley api-keys list.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let id = APIKeyID(unchecked: id)
            let missing = CommandFailure("There is no key \(id), or it is already revoked.")
            guard let key = try await context.database.apiKeys().first(where: { $0.id == id }), key.revokedAt == nil
            else { throw missing }
            try await confirmation.confirm(
                "The application that uses \(key.id) (\(key.name)) will no longer be able to call the API.",
                id: id.rawValue)
            let now = context.now
            guard try await context.database.revokeAPIKey(id, at: now) else { throw missing }
            var revoked = key
            revoked.revokedAt = now
            try options.show("\(id) revoked", revoked, APIKey.fields)
        }
    }

    /// `--scopes users:read,introspect`, in the order of `APIScope`, each once.
    private static func scopes(_ text: String) throws -> [APIScope] {
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
