internal import Accounts
internal import Storage

/// Whether a command runs with the configuration of the right team. Most mistakes of a transfer are that one.
enum TransferDirection {
    /// - Throws: when the configuration is of a team to which nobody is on the way.
    /// - Parameter again: those whom Apple refused count.
    static func checkImport(_ place: OperatorDatabase, again: Bool) async throws {
        let counts = try await place.database.transferCounts(from: nil, to: place.team)
        let routes = try await place.database.transferRoutes().filter { $0.recipient != place.team }
        if counts.exported + (again ? counts.refusedAtImport : 0) > 0 { return }
        let leaving = routes.first { $0.sender == place.team }
        // Once more after everybody has come is no mistake, unless they are leaving again.
        if counts.total > 0, (leaving?.waiting ?? 0) == 0 { return }
        let team = place.team.rawValue
        guard let route = leaving ?? routes.first else {
            throw CommandFailure(
                """
                Nobody in this database was exported to team \(team), which is this configuration's. Run bramley transfer \
                export --to \(team) with the old team's configuration first, or import the file of an export.
                """)
        }
        let way = "from team \(route.sender.rawValue) to team \(route.recipient.rawValue)"
        let people = route.waiting > 0 ? "\(route.waiting) wait to move \(way)" : "\(route.exported) have moved \(way)"
        throw CommandFailure(
            "This configuration is of team \(team), and nobody waits to move to that one: \(people). "
                + advice(for: route.recipient))
    }

    /// - Throws: when the configuration is of a team of nobody.
    static func checkExport(_ place: OperatorDatabase, counts: TransferCounts) throws(CommandFailure) {
        guard counts.total == 0 else { return }
        throw CommandFailure(
            """
            Nobody in this database is of team \(place.team.rawValue), which is this configuration's: export runs with the \
            old team's configuration, that is its apple.teamID, apple.keyID and apple.privateKeyFile.
            """)
    }

    static func advice(for recipient: TeamID) -> String {
        """
        An import runs with the new team's configuration: apple.teamID \(recipient.rawValue), with that team's apple.keyID \
        and apple.privateKeyFile.
        """
    }
}
