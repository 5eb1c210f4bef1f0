internal import Accounts
import ArgumentParser
internal import Coding

struct ServicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "services",
        abstract: "Manage the services (APIs) that applications call in a person's name.",
        discussion: """
            Changes take effect at once. docs/apps/openid.md explains how a service checks a token.
            """,
        subcommands: [
            Add.self, List.self, Show.self, Update.self, RotateSecret.self, Delete.self, Apply.self,
        ])

    struct List: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "List all services, ordered by id. Secrets are not shown.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        func run(on context: OperatorDatabase) async throws {
            let services = try await context.database.services().sorted { $0.id.rawValue < $1.id.rawValue }
            try await page.show(
                [
                    .init("ID") { .code($0.id.rawValue) }, .init("NAME", flexible: true) { .text($0.name) },
                    .init("ADDRESS", flexible: true, optional: true) { .code($0.uri) },
                    .init("SCOPES", flexible: true, optional: true) { .texts($0.scopes.map(\.scope.rawValue)) },
                    .init("LAST USED", optional: true) { .time($0.lastUsedAt) },
                ], Service.fields, .services, empty: "No services.", json: options.json
            ) { after, limit in Page(of: services, after: after, limit: limit, by: \.id.rawValue) }
        }
    }

    struct Show: DatabaseCommand {
        static let configuration = CommandConfiguration(abstract: "Show a service.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The service's id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            guard let service = try await context.database.service(id) else { throw Service.unknown(id) }
            let lines = Service.fields.flatMap { field -> [Field<Service>] in
                guard field.name == "scopes" else { return [field] }
                return service.scopes.map { entry in
                    Field("scope \(entry.scope.rawValue)") { _ in .text(entry.meaning) }
                }
            }
            try Service.show(service, options, [Field("id") { .code($0.id.rawValue) }] + lines.dropFirst())
        }
    }

    struct RotateSecret: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a new secret and print it once.",
            discussion: "The old secret stays valid for a while, so that you can change the service without an outage.")

        @OptionGroup var options: CommandOptions
        @Argument(help: "The service's id.") var id: OpenIDClientID
        @OptionGroup var rotation: RotationOptions

        func run(on context: OperatorDatabase) async throws {
            let now = context.now
            let outcome = try await context.services.rotateSecret(of: id, keepingOld: rotation.seconds, at: now)
            try Service.show(try Service.saved(outcome, id), options)
            rotation.remark(at: now)
        }
    }

    struct Delete: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a service. Its tokens stop working at once.")

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: "The service's id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            guard let service = try await context.database.service(id) else { throw Service.unknown(id) }
            try await confirmation.confirm(
                "No application will be able to use \(service.name) (\(id)), and its tokens will stop working.",
                id: id.rawValue)
            _ = try await context.services.delete(id, at: context.now)
            try options.show("\(id) deleted", service, Service.fields)
        }
    }

    struct Apply: DatabaseCommand {
        static let configuration = CommandConfiguration(
            abstract: "Apply a file of services and print the changes.",
            discussion: """
                The file is {"services": [{"serviceID", "uri", "name", "scopes", "serviceSecretSHA256"}]}; only uri is \
                required. scopes is an object of scopes and what they let an application do. serviceSecretSHA256 is 64 \
                hexadecimal digits; without it, a new service gets a secret, which is printed once, and an existing \
                service keeps its own. Another uri is another service. Applying the same file again changes nothing.
                """)

        @OptionGroup var options: CommandOptions
        @OptionGroup var file: RegistrationFile
        @Flag(help: "Delete services that are not in the file. Their tokens stop working.") var prune = false

        func run(on context: OperatorDatabase) async throws {
            var wanted: [ServiceRegistration] = []
            for (index, object) in try file.entries("services").enumerated() {
                do {
                    wanted.append(try ServiceRegistration(object))
                } catch {
                    throw CommandFailure.usage("services[\(index)]: \(LogEscaping.escaped("\(error)")).")
                }
            }
            let (entries, now) = (wanted, context.now)
            let secrets = Dictionary(
                entries.map { ($0.id, ServiceSecret.make(random: context.random)) },
                uniquingKeysWith: { first, _ in first })
            let outcome = try await context.services.apply(isDryRun: file.dryRun, at: now) { services in
                let kept = prune ? [] : services.filter { service in !entries.contains { $0.id == service.id } }
                return kept
                    + entries.compactMap { $0.service(replacing: services, secret: secrets[$0.id]?.hash, at: now) }
            }
            switch outcome {
            case .failure(let refused): throw Service.refusal(of: refused.id, refused.problems)
            case .success(let (before, after)):
                let made = secrets.filter { id, secret in
                    after.contains { $0.id == id && $0.secrets.current == secret.hash }
                }
                try file.show(before, after, secrets: made, json: options.json)
            }
        }
    }
}

extension Service: Registered {
    static var noun: String { "service" }

    func differences(from old: Service) -> [String] {
        [
            ("uri", old.uri != uri), ("name", old.name != name), ("scopes", old.scopes != scopes),
            ("serviceSecret", old.secrets.current != secrets.current),
        ].filter(\.1).map(\.0)
    }
}
