import Accounts
import Coding
import HTTP

/// `/operator/groups`: which groups there are, how many people are in each, and what it opens.
extension OperatorPages {
    private typealias Group = (name: String, people: Int, clients: [OpenIDClient])

    func groupList(_ visit: OperatorVisit) async throws(Failure) -> ServerResponse {
        let clients = try await database.openIDClients()
        let people = try await database.groupCounts()
        let names = Set(people.keys).union(groups).union(clients.flatMap(\.groups))
        let found: [Group] = names.sorted().map { name in
            (name, people[name] ?? 0, clients.filter { $0.groups.contains(where: name.isExactly) })
        }
        let list = OperatorList(
            tab: .groups,
            columns: [
                .init("group") { .link($0.name, visit.link("/operator/users", [("group", $0.name)])) },
                .init("people") { .text(String($0.people)) },
                .init("opens") { group in
                    let page = groups.contains(where: group.name.isExactly)
                    return .several(
                        (page ? [.tag(visit.texts["thisPage"], isGood: true)] : [])
                            + group.clients.map { .link($0.name, visit.link("/operator/clients/\($0.id)")) })
                },
            ], places: .groups
        ) { place, limit in Page(of: found, after: place, limit: limit, by: \.name) }
        return try await list.answer(visit, self)
    }

    /// Groups that a form may name: those of people, of applications, and of this page.
    func groupSuggestions() async throws(Failure) -> [String] {
        let names = try await database.groupNames(limit: 200)
        let clients = try await database.openIDClients()
        return Set(names + groups + clients.flatMap(\.groups)).sorted()
    }
}
