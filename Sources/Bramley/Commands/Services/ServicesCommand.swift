internal import Accounts
import ArgumentParser
internal import Coding
internal import Crypto

struct ServicesCommand: AsyncParsableCommand {
    private typealias Shared = RegisteredCommands<Service>

    static let configuration = CommandConfiguration(
        commandName: "services",
        abstract: "Manage the services (APIs) that applications call in a person's name.",
        discussion: """
            Changes take effect at once. docs/apps/openid.md explains how a service checks a token.
            """,
        subcommands: [
            Add.self, Shared.List.self, Shared.Show.self, Update.self, Shared.RotateSecret.self, Shared.Delete.self,
            Shared.Apply.self,
        ])
}

extension Services: RegistryOperations {}

extension Service: Registered {
    typealias Secret = ServiceSecret

    static var noun: String { "service" }
    static var holder: String { "service" }
    static var loss: String { "No application will be able to use" }
    static var places: Places<String> { .services }
    static var fileForm: String {
        """
        The file is {"services": [{"serviceID", "uri", "name", "scopes", "serviceSecretSHA256"}]}; only uri is \
        required. scopes is an object of scopes and what they let an application do. serviceSecretSHA256 is 64 \
        hexadecimal digits; without it, a new service gets a secret, which is printed once, and an existing service \
        keeps its own. Another uri is another service. Applying the same file again changes nothing.
        """
    }
    static var pruned: String { "services" }

    static var columns: [CommandColumn<Service>] {
        [
            .init("ID") { .code($0.id.rawValue) }, .init("NAME", flexible: true) { .text($0.name) },
            .init("ADDRESS", flexible: true, optional: true) { .code($0.uri) },
            .init("SCOPES", flexible: true, optional: true) { .texts($0.scopes.map(\.scope.rawValue)) },
            .init("LAST USED", optional: true) { .time($0.lastUsedAt) },
        ]
    }

    static func registry(_ context: OperatorDatabase) -> Services { context.services }
    static func all(_ database: Database) async throws(Failure) -> [Service] { try await database.services() }

    static func entry(
        _ object: JSONObject, after earlier: [OpenIDClientID], secret: Digest256, at now: Timestamp
    ) throws(CommandFailure) -> Entry {
        let entry = try translating(try ServiceRegistration(object)) { (error: Failure) in
            CommandFailure.usage("services[\(earlier.count)]: \(LogEscaping.escaped("\(error)")).")
        }
        return (entry.id, { found in entry.service(replacing: found, secret: secret, at: now) })
    }

    var secretHash: Digest256? { secrets.current }
    var isPruned: Bool { true }
    var lines: [Field<Service>] {
        Self.fields.flatMap { field -> [Field<Service>] in
            guard field.name == "scopes" else { return [field] }
            return scopes.map { entry in Field("scope \(entry.scope.rawValue)") { _ in .text(entry.meaning) } }
        }
    }

    func differences(from old: Service) -> [String] {
        [
            ("uri", old.uri != uri), ("name", old.name != name), ("scopes", old.scopes != scopes),
            ("serviceSecret", old.secrets.current != secrets.current),
        ].filter(\.1).map(\.0)
    }
}

extension ServicesCommand {
    struct Add: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a service, and print its id and secret once.")

        @OptionGroup var options: CommandOptions
        @Argument(
            help: ArgumentHelp(
                """
                The service's address, as applications send it in `resource`: https; http only on \
                this machine, and if publicURL is there too.
                """, valueName: "uri"))
        var uri: String

        @Option(
            help: """
                The name with which it authenticates: 1 to 64 letters, digits, dots, hyphens or underscores. (default: \
                host and path)
                """)
        var id: OpenIDClientID?

        @OptionGroup(title: "Service options") var service: ServiceOptions

        func run(on context: OperatorDatabase) async throws {
            guard let id = id ?? Service.id(for: uri) else {
                throw CommandFailure.usage(
                    AbsoluteURL(uri) == nil
                        ? "\(LogEscaping.escaped(uri).quoted) is not an https address."
                        : "The address gives no id; pass --id.")
            }
            let apply = try service.changes()
            let outcome = try await context.services.change(id, uri: uri, at: context.now) { service, _ in
                apply(&service)
            }
            try Service.show(outcome, of: id, options)
        }
    }

    struct Update: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a service.",
            discussion: "Changes only what you pass. Scopes replace the previous ones, also in tokens that were issued."
        )

        @OptionGroup var options: CommandOptions
        @Argument(help: "The service's id.") var id: OpenIDClientID
        @OptionGroup(title: "Service options") var service: ServiceOptions

        func run(on context: OperatorDatabase) async throws {
            let apply = try service.changes()
            let outcome = try await context.services.change(id, at: context.now) { service, _ in apply(&service) }
            try Service.show(outcome, of: id, isChange: true, options)
        }
    }
}

struct ServiceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The service's name, as shown on pages. (default: its id)", valueName: "text"))
    var name: String?

    @Option(
        name: .customLong("scope"),
        help: ArgumentHelp(
            """
            A scope of the service, and what it lets an application do, as people read it: notes.read="Read your \
            notes". Repeatable.
            """, valueName: "scope=words"))
    var scopes: [String] = []

    func validate() throws { _ = try named() }

    private func named() throws -> [Service.Scope] {
        try scopes.map { text in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let scope = OpenIDScope(rawValue: parts[0]) else {
                throw ValidationError(
                    "\(LogEscaping.escaped(text).quoted) is not a scope with its meaning, such as "
                        + #"notes.read="Read your notes"."#)
            }
            return Service.Scope(scope, parts[1])
        }
    }

    func changes() throws -> @Sendable (inout Service) -> Void {
        let (name, scopes) = (name, try named())
        return { service in
            if let name { service.name = name }
            if !scopes.isEmpty { service.scopes = scopes }
        }
    }
}
