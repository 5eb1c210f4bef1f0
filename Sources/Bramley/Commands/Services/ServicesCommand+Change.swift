internal import Accounts
import ArgumentParser
internal import Coding

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
            try Service.show(try Service.saved(outcome, id), options)
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
            let saved = try Service.saved(outcome, id)
            guard saved.item != saved.before else { throw CommandFailure.usage("Nothing to change; pass an option.") }
            try Service.show(saved, options)
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
