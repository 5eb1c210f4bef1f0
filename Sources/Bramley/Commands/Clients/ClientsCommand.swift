internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto

struct ClientsCommand: AsyncParsableCommand {
    private typealias Shared = RegisteredCommands<OpenIDClient>

    static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "Manage the applications that sign people in with OpenID Connect.",
        discussion: """
            Changes take effect at once. docs/apps/openid.md explains how to set up an application.
            """,
        subcommands: [
            Add.self, Shared.List.self, Shared.Show.self, Update.self, Shared.RotateSecret.self, Shared.Delete.self,
            Shared.Apply.self,
        ])
}

extension Clients: RegistryOperations {}

extension OpenIDClient: Registered {
    typealias Secret = OpenIDClientSecret

    static var noun: String { "client" }
    static var holder: String { "application" }
    static var loss: String { "Nobody will be able to sign in to" }
    static var places: Places<String> { .clients }
    static var fileForm: String {
        """
        The file is {"clients": [{"clientID", "name", "public", "redirectURIs", "logoutURIs", \
        "backChannelLogoutURI", "scopes", "groups", "requirePKCE", "consent", "device", "clientSecretSHA256"}]}; \
        only clientID and, unless device is true, redirectURIs are required. clientSecretSHA256 is 64 hexadecimal \
        digits; without it, a new client gets a secret, which is printed once, and an existing client keeps its own. \
        Applying the same file again changes nothing.
        """
    }
    static var pruned: String { "registered clients" }

    static var columns: [CommandColumn<OpenIDClient>] {
        [
            .init("ID") { .code($0.id.rawValue) }, .init("NAME", flexible: true) { .text($0.name) },
            .init("DOCUMENT", flexible: true, optional: true) { .text($0.document) },
            .init("KIND", optional: true) { .text($0.isPublic ? "public" : "secret") },
            .init("REDIRECT URIS", flexible: true, optional: true) {
                .text($0.redirectURIs.joined(separator: " "))
            },
            .init("GROUPS", flexible: true, optional: true) { .texts($0.groups) },
            .init("LAST USED", optional: true) { .time($0.lastUsedAt) },
        ]
    }

    static func registry(_ context: OperatorDatabase) -> Clients { context.clients }
    static func all(_ database: Database) async throws(Failure) -> [OpenIDClient] { try await database.openIDClients() }

    static func entry(
        _ object: JSONObject, after earlier: [OpenIDClientID], secret: Digest256, at now: Timestamp
    ) throws(CommandFailure) -> Entry {
        guard let id = object["clientID"]?.stringValue.flatMap({ OpenIDClientID(parsing: $0) }) else {
            throw .usage(
                "clients[\(earlier.count)].clientID must be 1 to 64 letters, digits, dots, hyphens or underscores.")
        }
        guard !earlier.contains(id) else { throw .usage("\(id) is in the file twice.") }
        let entry = try translating(try ClientRegistration(object, of: id)) { (error: Failure) in
            CommandFailure.usage("\(id): \(LogEscaping.escaped("\(error)")).")
        }
        return (
            id,
            { found in
                entry.client(replacing: found.first { $0.id == id }, secret: secret, by: .command, at: now)
            }
        )
    }

    var secretHash: Digest256? { secrets?.current }
    var isPruned: Bool { document == nil }
    var lines: [Field<OpenIDClient>] { Self.fields }

    func differences(from old: OpenIDClient) -> [String] {
        [
            ("name", old.name != name), ("public", old.isPublic != isPublic),
            ("redirectURIs", old.redirectURIs != redirectURIs), ("logoutURIs", old.logoutURIs != logoutURIs),
            (
                "backChannelLogoutURI",
                old.backChannelLogoutURI != backChannelLogoutURI || old.backChannelPublicOnly != backChannelPublicOnly
            ),
            ("scopes", old.scopes != scopes), ("groups", old.groups != groups),
            ("requirePKCE", old.requiresPKCE != requiresPKCE), ("consent", old.needsConsent != needsConsent),
            ("device", old.allowsDevice != allowsDevice),
            ("clientSecret", !old.isPublic && !isPublic && old.secrets?.current != secrets?.current),
        ].filter(\.1).map(\.0)
    }
}

extension ClientsCommand {
    struct Add: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register an application, and print its id and secret once.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The client's id: 1 to 64 letters, digits, dots, hyphens or underscores.")
        var id: OpenIDClientID
        @OptionGroup(title: "Client options") var client: ClientOptions

        @Flag(
            name: .customLong("public"),
            help: "The application cannot keep a secret, as in a browser, on a phone or on a desktop. It must use PKCE."
        )
        var isPublic = false

        func run(on context: OperatorDatabase) async throws {
            let now = context.now
            let apply = try client.changes()
            let outcome = try await context.clients.change(id, isNew: true, at: now) { client, secret in
                if !isPublic { client.replaceSecret(by: secret, keepingOldUntil: now, at: now) }
                apply(&client)
            }
            try OpenIDClient.show(outcome, of: id, options)
        }
    }

    struct Update: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a client.",
            discussion: "Changes only what you pass. A list replaces the previous one.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The client's id.") var id: OpenIDClientID
        @OptionGroup(title: "Client options") var client: ClientOptions
        @Flag(help: "Remove all groups, so that everyone may use the application.") var everyone = false

        @Flag(name: .customLong("no-logout-uris"), help: "Remove all logout URIs.")
        var noLogoutURIs = false

        @Flag(name: .customLong("no-back-channel-logout-uri"), help: "Remove the back-channel logout URI.")
        var noBackChannelLogoutURI = false

        func validate() throws {
            if noBackChannelLogoutURI, client.backChannelLogoutURI != nil {
                throw ValidationError("Pass --back-channel-logout-uri or --no-back-channel-logout-uri, not both.")
            }
            if everyone, !client.groups.isEmpty { throw ValidationError("Pass --group or --everyone, not both.") }
            if noLogoutURIs, !client.logoutURIs.isEmpty {
                throw ValidationError("Pass --logout-uri or --no-logout-uris, not both.")
            }
        }

        func run(on context: OperatorDatabase) async throws {
            let apply = try client.changes()
            let outcome = try await context.clients.change(id, isNew: false, at: context.now) { client, _ in
                apply(&client)
                if everyone { client.groups = [] }
                if noLogoutURIs { client.logoutURIs = [] }
                if noBackChannelLogoutURI { client.nameBackChannel(nil, by: .command) }
            }
            try OpenIDClient.show(outcome, of: id, isChange: true, options)
        }
    }
}

struct ClientOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The application's name, as shown on pages. Default for a new one: its id.", valueName: "text"))
    var name: String?

    @Option(
        name: .customLong("redirect-uri"),
        help: ArgumentHelp(
            """
            The application's redirect URI, character for character. It must use https, http on 127.0.0.1, [::1] or \
            localhost, or, for a public client, a reversed-domain scheme such as com.example.app:/callback. Repeatable.
            """, valueName: "uri"))
    var redirectURIs: [String] = []

    @Option(
        name: .customLong("logout-uri"),
        help: ArgumentHelp("Where people return after signing out. Repeatable.", valueName: "uri"))
    var logoutURIs: [String] = []

    @Option(
        name: .customLong("back-channel-logout-uri"),
        help: ArgumentHelp(
            """
            The application's URI for Back-Channel Logout, called when a person's session ends. https, or http on this \
            machine.
            """, valueName: "uri"))
    var backChannelLogoutURI: String?

    @Option(
        name: .customLong("group"),
        help: ArgumentHelp(
            "A group whose members may use the application. Repeatable. Without any, everyone may.",
            valueName: "group"))
    var groups: [String] = []

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            """
            Scopes that the application may request, comma-separated: \
            \(OpenIDScope.identity.map(\.rawValue).joined(separator: ", ")), and those of services. (default: \
            \(OpenIDScope.usual.map(\.rawValue).joined(separator: ", ")))
            """, valueName: "scopes"))
    var scopes: [String] = []

    @Flag(
        inversion: .prefixedNo,
        help: "Allow refresh tokens, which outlive a sign-out. Adds the scope offline_access.")
    var offline: Bool?

    @Flag(
        name: .customLong("require-pkce"), inversion: .prefixedNo,
        help: "Require a code challenge (RFC 7636). Public clients always need one.")
    var requirePKCE: Bool?

    @Flag(
        inversion: .prefixedNo,
        help: "Ask each person before the application gets anything: for a third-party application.")
    var consent: Bool?

    @Flag(
        inversion: .prefixedNo,
        help:
            "Allow devices, such as terminals and televisions, to show a code that people enter at /device (RFC 8628).")
    var device: Bool?

    func validate() throws { _ = try named() }

    /// The scopes named, in order; nil when none are.
    private func named() throws -> [OpenIDScope]? {
        guard !scopes.isEmpty else { return nil }
        let words = scopes.flatMap { $0.split(separator: ",").map(String.init) } + ["openid"]
        for word in words where OpenIDScope(rawValue: word) == nil {
            throw ValidationError("\(LogEscaping.escaped(word).quoted) is not a scope.")
        }
        return OpenIDScope.parse(words.joined(separator: " "))
    }

    func changes() throws -> @Sendable (inout OpenIDClient) -> Void {
        let (options, scopes) = (self, try named())
        return { options.apply(scopes, to: &$0) }
    }

    private func apply(_ scopes: [OpenIDScope]?, to client: inout OpenIDClient) {
        if let name { client.name = name }
        if !redirectURIs.isEmpty { client.redirectURIs = redirectURIs }
        if !logoutURIs.isEmpty { client.logoutURIs = logoutURIs }
        if let backChannelLogoutURI { client.nameBackChannel(backChannelLogoutURI, by: .command) }
        if !groups.isEmpty { client.groups = groups }
        if let scopes { client.scopes = scopes }
        if let offline {
            client.scopes.removeAll { $0 == .offlineAccess }
            if offline { client.scopes = OpenIDScope.ordered(client.scopes + [.offlineAccess]) }
        }
        if let requirePKCE { client.requiresPKCE = requirePKCE }
        if let consent { client.needsConsent = consent }
        if let device { client.allowsDevice = device }
    }
}
