import Foundation
import Testing

/// docs/openapi.yaml, read line by line: the file keeps to one layout, which a YAML reader of ours need not go beyond.
private struct APIDescription {
    struct Operation {
        var route: String
        /// Scopes of API keys the operation names; empty for one that needs a session.
        var scopes: Set<String> = []
        /// Statuses with the responses they refer to; nil where the operation says itself.
        var responses: [String: String?] = [:]
    }

    var operations: [Operation] = []
    /// The codes of each response below `components`.
    var codes: [String: Set<String>] = [:]

    init(_ text: String) {
        var path = ""
        var response = ""
        var anchors: [String: Set<String>] = [:]
        var anchor: String?
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: #/  (/[^:]+):/#) { path = String(match.1) }
            if let match = line.wholeMatch(of: #/    (get|post|put|patch|delete):/#) {
                operations.append(Operation(route: "\(match.1.uppercased()) \(path)"))
            }
            guard !operations.isEmpty else { continue }
            let last = operations.count - 1
            if let match = line.wholeMatch(of: #/      security:(?: ([&*])(\w+))?/#) {
                anchor = match.1 == "&" ? match.2.map(String.init) : nil
                if match.1 == "*" { operations[last].scopes = anchors[String(match.2 ?? "")] ?? [] }
            }
            if let match = line.wholeMatch(of: #/        - (\w+): \[(.*)\]/#) {
                for scope in match.2.split(separator: ",") {
                    operations[last].scopes.insert(scope.filter { $0.isLetter || $0 == ":" })
                }
                if let anchor { anchors[anchor] = operations[last].scopes }
            }
            if let match = line.wholeMatch(of: #/        "(\d+)":(?: \{ \$ref: "\#/components/responses/(\w+)" \})?/#) {
                operations[last].responses[String(match.1)] = .some(match.2.map(String.init))
            }
            if let match = line.wholeMatch(of: #/    ([A-Z]\w+):/#) { response = String(match.1) }
            if let match = line.firstMatch(
                of: #/properties: \{ code: \{ type: string, x-extensible-enum: \[(.*)\] \} \}/#)
            {
                codes[response, default: []].formUnion(
                    match.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
            }
        }
    }
}

/// The description of the API and the sources hold each other; that the answers are as described, Tests/System/API sees.
struct ArchitectureAPITests {
    /// Read once: it takes seconds.
    private static let read = APIDescription(Repository.real.files["docs/openapi.yaml"] ?? "")

    private let description = Self.read
    private let repository = Repository.real

    @Test func exactlyTheAPIsRoutesAreDescribed() {
        let routes = DocumentRules.routes(repository).filter { $0.contains(" /api/") || $0.contains(" /.well-known/") }
        #expect(routes.count > 10)
        #expect(Set(description.operations.map(\.route)) == routes)
        #expect(description.operations.count == routes.count)
    }

    /// The scope each route asks for in `APIRoutes`.
    @Test func everyScopeIsDescribed() throws {
        let source = try #require(repository.files["Sources/Web/API/APIRoutes.swift"])
        let names = [
            "introspect": "introspect", "usersRead": "users:read", "usersWrite": "users:write",
            "usersDelete": "users:delete",
            "eventsRead": "events:read", "webhooksRead": "webhooks:read", "webhooksWrite": "webhooks:write",
            "clientsRead": "clients:read", "clientsWrite": "clients:write",
            "links": "links", "linksReplace": "links:replace",
        ]
        var asked: [String: Set<String>] = [:]
        for match in source.matches(
            of: #/Entry\(\s*\.(\w+), "([^"]+)",\s*(?:scope: \.(\w+), gate)?/#)
        {
            asked["\(match.1.uppercased()) \(match.2)"] = Set(match.3.map { [names[String($0)] ?? "?"] } ?? [])
        }
        #expect(asked.count > 10)
        for operation in description.operations where asked[operation.route] != nil {
            #expect(operation.scopes == asked[operation.route], "\(operation.route)")
        }
        #expect(Set(asked.keys).isSubset(of: description.operations.map(\.route)))
    }

    /// Codes that only pages, Apple, proxies or programs of OpenID Connect are answered with, or that come before there
    /// is a route.
    private static let elsewhere: Set = [
        "notification_refused", "return_to_refused", "original_request", "method_not_allowed", "not_allowed",
        "openid_client_unknown", "openid_error_returned", "openid_redirect_refused", "openid_not_allowed",
        "openid_client_refused", "openid_grant_refused",
    ]

    @Test func exactlyTheAPIsCodesAreDescribed() throws {
        let all = DocumentRules.codes(
            in: try #require(repository.files["Sources/Accounts/Failures/ReasonCode.swift"]))
        // A sign-in from an app is refused for the reasons of any sign-in.
        let signIns = try #require(all.firstIndex(of: "storage"))
        let reasons = Set(all[...signIns])
        let codes = Set(all).subtracting(Self.elsewhere).subtracting(reasons)
        let used = Set(description.operations.flatMap { $0.responses.values.compactMap { $0 } })
        // Answered before there is a route, in one line of text.
        #expect(used == Set(description.codes.keys).union(["URITooLong"]))
        let described = description.codes.values.reduce(into: Set()) { $0.formUnion($1) }
        #expect(codes.isSubset(of: described), "\(codes.subtracting(described))")
        #expect(described.subtracting(codes).isSubset(of: reasons), "\(described.subtracting(codes))")
    }

    @Test func everyOperationHasTheCommonResponses() {
        for operation in description.operations where operation.route.contains("/api/") {
            var statuses: Set = ["400", "401", "403", "503"]
            if !operation.scopes.isEmpty { statuses.insert("429") }
            // What an app asks before it is signed in needs no credential, and its nonce no database.
            if operation.route.contains("/native/") { statuses = ["400", "404", "429"] }
            #expect(statuses.isSubset(of: operation.responses.keys), "\(operation.route)")
        }
    }
}
