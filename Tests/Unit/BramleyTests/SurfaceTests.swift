import ArgumentParser
import Coding
import Foundation
import Testing

@testable import Accounts
@testable import Bramley
@testable import Web

/// What operators and applications can do, and where: a command, a request of the API with a scope, and a page or an
/// action of the operator's. An operation that comes to a surface, or leaves it, stands here or fails.
private struct Operation {
    let name: String
    /// Below `bramley`; an option distinguishes operations of one command.
    var command: String?
    var api: String?
    /// A path, or the name of an action at `/operator/change`.
    var page: String?

    init(_ name: String, _ command: String?, _ api: String?, _ page: String?) {
        self.name = name
        self.command = command
        self.api = api
        self.page = page
    }

    private static let user = "/api/v1/users/{id}"
    private static let retry = "POST /api/v1/webhooks/retry"

    static let all = [
        Operation("list people", "users list", "GET /api/v1/users", "/operator/users"),
        Operation("show a person", "users show", "GET \(user)", "/operator/users/{id}"),
        Operation("show a person's credential", nil, "GET \(user)/credential", "/operator/users/{id}"),
        Operation("approve a person", "users approve", "PATCH \(user)", "approve"),
        Operation("enable a person", "users enable", "PATCH \(user)", "enable"),
        Operation("disable a person", "users disable", "PATCH \(user)", "disable"),
        Operation("set a person's groups", "users groups", "PATCH \(user)", "groups"),
        Operation("set a person's external id", nil, "PATCH \(user)", nil),
        Operation("export a person", "users export", nil, "/operator/users/{id}/export"),
        Operation("import people", "users import", nil, nil),
        Operation("delete a person", "users delete", "DELETE \(user)", "delete-user"),
        Operation("list sessions", "sessions list", nil, "/operator/sessions"),
        Operation("list a person's sessions", "sessions list --user", "GET \(user)/sessions", "/operator/sessions"),
        Operation("end a session", "sessions revoke", "DELETE \(user)/sessions/{session}", "end-session"),
        Operation("end a person's sessions", "sessions revoke --user", "DELETE \(user)/sessions", "end-sessions"),
        Operation("end all sessions", "sessions revoke --all", nil, nil),
        Operation("list a person's applications", "users show", "GET \(user)/applications", "/operator/users/{id}"),
        Operation(
            "end an application's access", "users end-access", "DELETE \(user)/applications/{client}", "end-access"),
        Operation("end all applications' access", "users end-access --all", "DELETE \(user)/applications", nil),
        Operation("list clients", "clients list", "GET /api/v1/clients", "/operator/clients"),
        Operation("show a client", "clients show", "GET /api/v1/clients/{id}", "/operator/clients/{id}"),
        Operation("add a client", "clients add", "PUT /api/v1/clients/{id}", "add-client"),
        Operation("change a client", "clients update", "PUT /api/v1/clients/{id}", "edit-client"),
        Operation("apply a file of clients", "clients apply", nil, nil),
        Operation("rotate a secret", "clients rotate-secret", "POST /api/v1/clients/{id}/secret", "rotate-secret"),
        Operation("delete a client", "clients delete", "DELETE /api/v1/clients/{id}", "delete-client"),
        Operation("list services", "services list", nil, nil),
        Operation("show a service", "services show", nil, nil),
        Operation("add a service", "services add", nil, nil),
        Operation("change a service", "services update", nil, nil),
        Operation("apply a file of services", "services apply", nil, nil),
        Operation("rotate a service's secret", "services rotate-secret", nil, nil),
        Operation("delete a service", "services delete", nil, nil),
        // No key makes or shows a key.
        Operation("list keys", "api-keys list", nil, "/operator/api-keys"),
        Operation("create a key", "api-keys create", nil, "create-key"),
        Operation("revoke a key", "api-keys revoke", nil, "revoke-key"),
        Operation("list endpoints", "webhooks list", "GET /api/v1/webhooks", "/operator/webhooks"),
        Operation(
            "list dead letters", "webhooks list --dead", "GET /api/v1/webhooks/dead-letters", "/operator/webhooks"),
        Operation("retry an event", "webhooks retry", retry, "retry-event"),
        Operation("retry an endpoint", "webhooks retry --endpoint", retry, "retry-endpoint"),
        Operation("retry dead letters", "webhooks retry --all-dead", retry, "retry-all"),
        Operation("test an endpoint", "webhooks test", "POST /api/v1/webhooks/test", "test-endpoint"),
        // Apple's notifications contain Apple's subjects: only for the operator.
        Operation("list notifications", "notifications list", nil, "/operator/notifications"),
        Operation("show a notification", "notifications show", nil, nil),
        Operation("replay a notification", "notifications replay", nil, "replay"),
        Operation("list the audit log", "audit list", nil, "/operator/audit"),
        Operation("read the journal", "events tail", "GET /api/v1/events", nil),
        Operation("list links", "links list", nil, nil),
    ]

    /// Of applications themselves, not of administration.
    static let requests: Set = ["POST /api/v1/introspect", "POST /api/v1/links", "POST /api/v1/links/{id}/complete"]
    /// Of no list and no thing.
    static let pages: Set = [
        "/operator", "/operator/doctor", "/operator/change", "/operator/groups", "/operator/server",
    ]
}

/// Commands, API and operator's pages do what is described, and show the same fields.
@Suite struct SurfaceTests {
    private static func leaves(of command: any ParsableCommand.Type, path: [String]) -> [String] {
        let below = command.configuration.subcommands
        if below.isEmpty { return [path.joined(separator: " ")] }
        return below.flatMap { leaves(of: $0, path: path + [$0._commandName]) }
    }

    @Test("The table has exactly the administrative commands")
    func commands() {
        let described = Set(
            Operation.all.compactMap { $0.command?.split(separator: " ").prefix(2).joined(separator: " ") })
        let groups = Set(described.compactMap { $0.split(separator: " ").first.map(String.init) })
        let found = Self.leaves(of: BramleyCommand.self, path: []).filter { leaf in
            groups.contains(leaf.split(separator: " ").first.map(String.init) ?? "")
        }
        #expect(Set(found) == described)
    }

    @Test("The table has exactly the requests with a scope")
    func requests() throws {
        let source = try text(ofFile: "Sources/Web/API/APIRoutes.swift")
        let found = source.matches(of: #/Entry\(\s*\.(\w+), "([^"]+)",\s*scope: /#).map {
            "\($0.1.uppercased()) \($0.2)"
        }
        #expect(Set(found).subtracting(Operation.requests) == Set(Operation.all.compactMap(\.api)))
    }

    @Test("The table has exactly the operator's pages and actions")
    func pages() throws {
        let described = Set(Operation.all.compactMap(\.page))
        #expect(described.filter { !$0.hasPrefix("/") } == Set(OperatorAction.allCases.map(\.rawValue)))
        let source = try text(ofFile: "Sources/Web/Operator/OperatorPages.swift")
        let found = source.matches(of: #/Entry\(\s*\.\w+, "([^"]+)"/#).map { String($0.1) }
        #expect(Set(found).subtracting(Operation.pages) == described.filter { $0.hasPrefix("/") })
    }

    /// The required members of a schema of docs/openapi.yaml.
    private static func members(of schema: String) throws -> [String] {
        let text = try text(ofFile: "docs/openapi.yaml")
        let match = text.firstMatch(
            of: try Regex(
                "\n    \(schema):\n(?:      .*\n)*?      required: \\[([^\\]]*)\\]", as: (Substring, Substring).self))
        let list = try #require(match?.1, "\(schema)")
        return list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
    }

    @Test("Fields are defined once, and the API describes them in their order")
    func fields() throws {
        func names<Item>(_ fields: [Field<Item>]) -> [String] { fields.map(\.name) }
        #expect(try names(User.fields) == Self.members(of: "User"))
        #expect(try names(User.fieldsOfActive) == Self.members(of: "SignedInUser"))
        #expect(try names(Session.fields) == Self.members(of: "UserSession"))
        #expect(try names(Session.times) == Self.members(of: "CurrentSession"))
        #expect(try names(OpenIDClient.fields) == Self.members(of: "Client"))
        #expect(try names(ConnectedApplication.fields) == Self.members(of: "ConnectedApplication"))
        #expect(
            try names(WebhookEndpoint.fields([:], at: .init(seconds: 0), for: .api))
                == Self.members(of: "WebhookEndpoint"))
        #expect(try names(DeadWebhook.fields(for: .api)) == Self.members(of: "DeadLetter"))
        #expect(try names(WebhookTestResult.fields(of: "", for: .api)) == Self.members(of: "WebhookTestResult"))
    }

    /// Where the page of a client shows each of its fields; nil for those it does not.
    private static let factsOfClient: [String: String?] = [
        "clientID": "id", "name": nil, "public": "kind", "redirectURIs": "redirectURIs", "logoutURIs": "logoutURIs",
        "backChannelLogoutURI": "backChannel", "backChannelPublicOnly": nil, "scopes": "scopes", "groups": "groups",
        "requirePKCE": nil, "consent": "kind", "device": nil, "document": "id", "formerSecretUntil": "formerSecret",
        "createdAt": "created", "updatedAt": nil,
        "lastUsedAt": "lastUsed", "lastRefusedAt": "lastRefused",
    ]

    @Test("A field of a client is in the file of clients, and on its page or known to be missing")
    func fieldsOfClient() throws {
        let names = OpenIDClient.fields.map(\.name)
        #expect(Set(names) == Set(Self.factsOfClient.keys))
        let source = try text(ofFile: "Sources/Web/Operator/OperatorClients.swift")
        let facts = Set(source.matches(of: #/fact\(\s*"(\w+)"/#).map { String($0.1) })
        #expect(facts == Set(Self.factsOfClient.values.compactMap(\.self)))
        // What only the server knows is not described by anybody.
        let own: Set = [
            "backChannelPublicOnly", "document", "formerSecretUntil", "createdAt", "updatedAt", "lastUsedAt",
            "lastRefusedAt",
        ]
        #expect(Set(names).subtracting(own) == Set(ClientRegistration.members).subtracting(["clientSecretSHA256"]))
    }
}
