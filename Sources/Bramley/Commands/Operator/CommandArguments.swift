internal import Accounts
internal import ArgumentParser

// Command-line arguments as values of the domain. Anything else is refused before the database is opened.

extension ID: ExpressibleByArgument {
    init?(argument: String) { self.init(parsing: argument) }
}

extension OpenIDClientID: ExpressibleByArgument {
    init?(argument: String) { self.init(parsing: argument) }
}

extension LinkState: ExpressibleByArgument {}
extension User.State: ExpressibleByArgument {}
extension NotificationOutcome: ExpressibleByArgument {
    init?(argument: String) { self.init(recorded: argument) }
    static var allValueStrings: [String] { recorded.map(\.rawValue) }
}
extension JournalEntry.Kind: ExpressibleByArgument {}
extension AuditEntry.Kind: ExpressibleByArgument {}
