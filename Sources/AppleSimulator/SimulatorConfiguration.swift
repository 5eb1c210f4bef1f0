/// What the simulated Apple knows about the relying parties: the relevant part of Apple's developer portal.
package struct SimulatorConfiguration: Sendable {
    /// One developer team and its Sign in with Apple keys by key ID.
    package struct Team: Sendable {
        package var id: String
        package var keys: [String: ClientKey]

        package init(id: String, keys: [String: ClientKey]) {
            self.id = id
            self.keys = keys
        }
    }

    /// A Services ID (web: has return URLs) or an App ID (native: has none).
    package struct Client: Sendable {
        package var id: String
        package var team: String
        /// Registered return URLs, compared character by character.
        package var redirectURIs: [String]

        package init(id: String, team: String, redirectURIs: [String]) {
            self.id = id
            self.team = team
            self.redirectURIs = redirectURIs
        }

        package var isNative: Bool { redirectURIs.isEmpty }
    }

    package var teams: [Team]
    package var clients: [Client]
    /// The address for server-to-server notifications; with nil, none until the control interface sets one.
    package var notificationURL: String?
    /// `iss` of every token, and `aud` of a client secret.
    package var issuer = "https://appleid.apple.com"
    package var keyCount = 3

    /// One team, one website, and its apps; others come through the control interface.
    /// - Parameter redirectURIs: empty: the one below `serverURL`.
    package init(
        serverURL: String, servicesID: String, bundleIDs: [String] = [], team: Team, redirectURIs: [String] = []
    ) {
        var base = serverURL
        while base.hasSuffix("/") { base.removeLast() }
        let uris = redirectURIs.isEmpty ? [base + "/apple/callback"] : redirectURIs
        teams = [team]
        clients =
            [Client(id: servicesID, team: team.id, redirectURIs: uris)]
            + bundleIDs.map { Client(id: $0, team: team.id, redirectURIs: []) }
        notificationURL = base + "/apple/notifications"
    }
}
