internal import Accounts
internal import ArgumentParser

/// A person as named on a command line: by id, the application's own id, Apple's subject, email address, or
/// beginnings of words of the name. It must match exactly one person.
struct UserReference: Hashable, Sendable, ExpressibleByArgument {
    static let help = "The user: usr_…, email address, external ID, Apple's subject, or name."
    private static let shown = 10

    let text: String

    init?(argument: String) {
        // Text that begins like an id and is not one is a typing error, not a name.
        guard !argument.isEmpty, !argument.hasPrefix("usr_") || UserID(parsing: argument) != nil else { return nil }
        text = argument
    }

    struct Finding: Sendable {
        let user: User
        /// Matched by something unique. A name, and an address that Apple did not verify, are the person's own claims.
        let isCertain: Bool
    }

    /// The id, which may belong to a deleted person.
    func id(in context: OperatorDatabase) async throws -> UserID {
        if let id = UserID(parsing: text) { return id }
        return try await find(in: context).user.id
    }

    /// - Throws: `CommandFailure` when nobody matches, or several do, who are then listed.
    func find(in context: OperatorDatabase) async throws -> Finding {
        let database = context.database
        if let id = UserID(parsing: text) {
            guard let user = try await database.user(id) else { throw CommandFailure("There is no user \(id).") }
            return Finding(user: user, isCertain: true)
        }
        var found: [Finding] = []
        if let user = try await database.user(externalID: text) { found.append(Finding(user: user, isCertain: true)) }
        if let user = try await database.user(team: context.team, subject: AppleSubject(text)) {
            found.append(Finding(user: user, isCertain: true))
        }
        found += try await users(UserFilter(email: text), in: database).map {
            Finding(user: $0, isCertain: $0.email?.isVerified == true)
        }
        if found.isEmpty {
            found = try await users(UserFilter(name: text), in: database).map { Finding(user: $0, isCertain: false) }
        }
        guard let first = found.first else { throw CommandFailure("No user matches \(text.quoted).") }
        // One person may be found in two ways; the more certain one comes first.
        let others = found.filter { $0.user.id != first.user.id }
        guard others.isEmpty else { throw ambiguous([first] + others) }
        return first
    }

    private func users(_ filter: UserFilter, in database: Database) async throws -> [User] {
        var (users, next): ([User], UserCursor?) = ([], nil)
        repeat {
            let page = try await database.users(filter, after: next, limit: Self.shown + 1 - users.count)
            users += page.items
            next = page.next
        } while next != nil && users.count <= Self.shown
        return users
    }

    private func ambiguous(_ found: [Finding]) -> CommandFailure {
        for finding in found.prefix(Self.shown) {
            CommandOutput.remark("  \(UserRows.mention(finding.user)), \(finding.user.state.rawValue)")
        }
        let count = found.count > Self.shown ? "More than \(Self.shown)" : "\(found.count)"
        return CommandFailure("\(count) users match \(text.quoted). Choose one by id. Nothing was done.")
    }
}

extension [UserReference] {
    func find(in context: OperatorDatabase) async throws -> [UserReference.Finding] {
        var found: [UserReference.Finding] = []
        for reference in self {
            let finding = try await reference.find(in: context)
            if !found.contains(where: { $0.user.id == finding.user.id }) { found.append(finding) }
        }
        return found
    }
}

extension ConfirmationOptions {
    /// Asks for confirmation when a user was found by a name or an unverified address.
    /// - Parameter what: the end of a sentence that begins with the people, as in `will be approved`.
    func confirm(_ findings: [UserReference.Finding], _ what: String) async throws(CommandFailure) {
        let doubtful = findings.filter { !$0.isCertain }.map(\.user)
        guard let first = doubtful.first else { return }
        let names = doubtful.map(UserRows.mention).joined(separator: ", ")
        guard !yes else {
            throw .usage(
                "\(names) matched only a name or an unverified address. With --yes, pass ids. Nothing was done.")
        }
        try await confirm("\(names) \(what).", id: doubtful.count == 1 ? first.id.rawValue : nil)
    }
}
