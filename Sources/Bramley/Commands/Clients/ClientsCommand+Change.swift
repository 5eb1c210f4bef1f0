internal import Accounts
import ArgumentParser

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
            try OpenIDClient.show(try OpenIDClient.saved(outcome, id), options)
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
            let saved = try OpenIDClient.saved(outcome, id)
            guard saved.item != saved.before else {
                throw CommandFailure.usage("Nothing to change; pass an option.")
            }
            try OpenIDClient.show(saved, options)
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
