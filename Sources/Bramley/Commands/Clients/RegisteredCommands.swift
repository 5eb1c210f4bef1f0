internal import Accounts
import ArgumentParser
internal import Coding

/// What clients and services have in common: `list`, `show`, `rotate-secret`, `delete`, and `apply`.
enum RegisteredCommands<Item: Registered> {
    struct List: DatabaseCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(abstract: "List all \(Item.noun)s, ordered by id. Secrets are not shown.")
        }

        @OptionGroup var options: CommandOptions
        @OptionGroup var page: PageOptions

        func run(on context: OperatorDatabase) async throws {
            let items = try await Item.all(context.database).sorted { $0.id.rawValue < $1.id.rawValue }
            try await page.show(
                Item.columns, Item.fields, Item.places, empty: "No \(Item.noun)s.", json: options.json
            ) { after, limit in Page(of: items, after: after, limit: limit, by: \.id.rawValue) }
        }
    }

    struct Show: DatabaseCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(abstract: "Show a \(Item.noun).")
        }

        @OptionGroup var options: CommandOptions
        @Argument(help: "The \(Item.noun)'s id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            let item = try await Item.find(id, in: context.database)
            if options.json { return try CommandOutput.json { $0.write(item, Item.fields) } }
            try CommandOutput.fields(
                of: item, [Field("id") { .code($0.id.rawValue) }] + item.lines.dropFirst(), separator: " ")
        }
    }

    struct RotateSecret: DatabaseCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                abstract: "Create a new secret and print it once.",
                discussion: """
                    The old secret stays valid for a while, so that you can change the \(Item.holder) without an outage.
                    """)
        }

        @OptionGroup var options: CommandOptions
        @Argument(help: "The \(Item.noun)'s id.") var id: OpenIDClientID
        @Option(help: ArgumentHelp("Days that the old secret stays valid, 0 to 90.", valueName: "days"))
        var keepOld = 7

        func validate() throws {
            guard (0...90).contains(keepOld) else { throw ValidationError("--keep-old must be 0 to 90 days.") }
        }

        func run(on context: OperatorDatabase) async throws {
            let (now, seconds) = (context.now, Int64(keepOld) * 86_400)
            let outcome = try await Item.registry(context).rotateSecret(of: id, keepingOld: seconds, at: now)
            try Item.show(outcome, of: id, options)
            let end = now.adding(seconds: seconds)
            CommandOutput.remark(
                keepOld == 0 ? "The old secret no longer works." : "The old secret stays valid until \(end.rfc3339).")
        }
    }

    struct Delete: DatabaseCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(abstract: "Delete a \(Item.noun). Its tokens stop working at once.")
        }

        @OptionGroup var options: CommandOptions
        @OptionGroup var confirmation: ConfirmationOptions
        @Argument(help: "The \(Item.noun)'s id.") var id: OpenIDClientID

        func run(on context: OperatorDatabase) async throws {
            let item = try await Item.find(id, in: context.database)
            try await confirmation.confirm(
                "\(Item.loss) \(item.name) (\(id)), and its tokens will stop working.", id: id.rawValue)
            _ = try await Item.registry(context).delete(id, at: context.now)
            try options.show("\(id) deleted", item, Item.fields)
        }
    }
}
