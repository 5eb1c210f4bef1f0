import ChildProcesses
import Coding
import Foundation
import HTTP
import HTTPTypes
import Sockets
import TemporaryFolders

/// An app with its server, two teams, and the Apple that both are known to.
struct TransferBed {
    static let newTeam = "TEAM654321"
    private static let newKey = "NEWKEY1234"

    let place: ServerPlace
    let simulator: RunningSimulator
    let group: EventLoopGroup

    static func with(_ body: @escaping (TransferBed, ServerPlace) async throws -> Void) async throws {
        try await withLoops { group in
            let (place, simulator) = try await ServerPlace.besideApple(on: group)
            try await body(TransferBed(place: place, simulator: simulator, group: group), place)
        }
    }

    /// The new team gets a key of its own, and the client with the app.
    func changeHands() async throws {
        try await know(client: ServerPlace.servicesID, team: Self.newTeam, key: Self.newKey)
        try replace(ServerPlace.teamID, Self.newTeam)
        try replace(ServerPlace.keyID, Self.newKey)
    }

    /// Back to the old team, as if the app had never changed hands.
    func returnToOldTeam() async throws {
        try await know(client: ServerPlace.servicesID, team: ServerPlace.teamID, key: ServerPlace.keyID)
        try replace(Self.newTeam, ServerPlace.teamID)
        try replace(Self.newKey, ServerPlace.keyID)
    }

    /// The recipient must be known before anybody can be handed over to it.
    func introduce() async throws {
        try await know(client: "com.example.other", team: Self.newTeam, key: Self.newKey)
    }

    private func know(client: String, team: String, key: String) async throws {
        let pem = try String(contentsOfFile: place.keyPath, encoding: .utf8)
        try await simulator.control(
            .post, "clients",
            [
                "id": .string(client), "team": .string(team),
                "redirectURIs": .array([.string(ServerPlace.publicURL + "/apple/callback")]),
                "keyID": .string(key), "key": .string(pem),
            ])
    }

    private func replace(_ old: String, _ new: String) throws {
        let text = try String(contentsOfFile: place.configurationPath, encoding: .utf8)
        try place.folder.write(text.replacingOccurrences(of: old, with: new), to: "config.json")
    }

    func fault(_ fault: JSONObject) async throws {
        try await simulator.control(.put, "faults/usermigrationinfo", fault)
    }

    /// How often Apple was asked about somebody.
    func requests() async throws -> Int64 {
        try await simulator.control(.get, "counters")["usermigrationinfo"]?.objectValue?["requests"]?.int64Value ?? 0
    }

    /// People who sign in at a server that runs for as long as that takes; by their names.
    /// - Returns: the id of each.
    func signIn(_ names: [String], from network: String) async throws -> [String: String] {
        let server = try await place.start(on: group)
        var ids: [String: String] = [:]
        for (number, name) in names.enumerated() {
            let person = try await simulator.add(name)
            let token = try await server.signIn(person, at: simulator, from: "\(network).\(number)")
            ids[name] = try await server.session(token).json["user"]?.objectValue?["id"]?.stringValue
        }
        await server.stop()
        return ids
    }

    /// One number of `transfer status`.
    func count(_ name: String) async throws -> Int64? {
        try await place.run("transfer status --to \(Self.newTeam) --json").json[name]?.int64Value
    }
}
