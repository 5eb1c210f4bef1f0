package import HTTPTypes

/// The values of `{name}` segments, decoded.
package struct PathParameters: Hashable, Sendable {
    private var values: [String: String] = [:]

    package init(_ values: [String: String] = [:]) { self.values = values }

    package subscript(name: String) -> String? { values[name] }
}

package typealias RouteHandler = @Sendable (ServerRequest, PathParameters) async -> ServerResponse

/// One method and path that is served.
package struct Route: Sendable {
    /// In the order of registration, from 0: an index for metrics.
    package let id: Int
    package let method: HTTPRequest.Method
    /// As registered, without the base path: the route's name in logs and metrics.
    package let pattern: String
    package let handler: RouteHandler
}

package enum RoutingFailure: Error, Hashable, Sendable {
    case malformedPath
    case notFound
    /// 405; the value of `Allow`.
    case methodNotAllowed(allow: String)
    /// 501: an unknown method.
    case unknownMethod

    package var status: HTTPResponse.Status {
        switch self {
        case .malformedPath: .badRequest
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .unknownMethod: .notImplemented
        }
    }

    /// `Allow` where the status asks for it (RFC 9110 §15.5.6).
    package var fields: HTTPFields {
        if case .methodNotAllowed(let allow) = self { return [.allow: allow] }
        return HTTPFields()
    }
}

package enum RouteMatch: Sendable {
    case route(Route, PathParameters)
    /// An OPTIONS that is not registered: 204 with this `Allow`.
    case options(allow: String)
    case failure(RoutingFailure)

    package var route: Route? { if case .route(let route, _) = self { route } else { nil } }
    package var pattern: String? { if case .route(let route, _) = self { route.pattern } else { nil } }
}

/// Finds the handler for a method and a path. Built once at start, then only read.
///
/// Patterns consist of literal segments, `{name}` for one segment, and `{name...}` at the end for one or more,
/// separated by slashes. A literal takes precedence over `{name}`, and that over `{name...}`. The GET route also
/// answers HEAD.
package struct Router: Sendable, RequestHandler {
    private struct Node: Sendable {
        var literals: [String: Int] = [:]
        var parameter: Int?
        var tail: Int?
        /// There are few methods: a list is faster than a dictionary.
        var routes: [Route] = []
        /// The names of the parameters on the way here, in order.
        var names: [String] = []
    }

    /// RFC 9110 §9.3. Only these can be registered; anything else gets 501.
    static let methods: [HTTPRequest.Method] = [
        .get, .head, .post, .put, .delete, .options, .patch, .trace, .connect,
    ]

    private let base: [String]
    private var nodes = [Node()]
    package private(set) var routes: [Route] = []
    private let failure: @Sendable (ServerRequest, RoutingFailure) async -> ServerResponse

    /// - Parameters:
    ///   - basePath: the path of the public URL, before every pattern; empty or `/` for none.
    ///   - failure: makes the answer when there is no route.
    package init(
        basePath: String = "",
        failure: @escaping @Sendable (ServerRequest, RoutingFailure) async -> ServerResponse = Router.plainFailure
    ) {
        base = basePath.split(separator: "/").map(String.init)
        self.failure = failure
    }

    /// Registers a route.
    /// - Precondition: `pattern` begins with a slash, has no empty segment (but may be `/`), repeats no parameter, and
    ///   the method and pattern are not registered yet. Patterns are fixed in our source.
    package mutating func add(_ method: HTTPRequest.Method, _ pattern: String, handler: @escaping RouteHandler) {
        precondition(pattern.hasPrefix("/"), "a route pattern begins with a slash")
        precondition(Self.methods.contains(method), "not a method of RFC 9110")
        var node = 0
        var names: [String] = []
        let segments = base + pattern.split(separator: "/").map(String.init)
        for (position, segment) in segments.enumerated() {
            let kind = SegmentKind(segment)
            if let name = kind.name {
                precondition(!names.contains(name), "a parameter is named twice")
                names.append(name)
            }
            if case .tail = kind { precondition(position == segments.count - 1, "a tail is the last segment") }
            node = child(of: node, kind)
        }
        precondition(!nodes[node].routes.contains { $0.method == method }, "a route is registered twice")
        precondition(nodes[node].routes.isEmpty || nodes[node].names == names, "a position has one set of names")
        let route = Route(id: routes.count, method: method, pattern: pattern, handler: handler)
        nodes[node].routes.append(route)
        nodes[node].names = names
        routes.append(route)
    }

    /// Finds the route for a method and a path that is still encoded.
    package func match(_ method: HTTPRequest.Method, path: String) -> RouteMatch {
        guard Self.methods.contains(method) else { return .failure(.unknownMethod) }
        if path == "*" { return method == .options ? .options(allow: allow(routes)) : .failure(.malformedPath) }
        let segments: [String]
        do {
            // The base path itself is served with and without its final slash.
            segments = try PathSegments.parse(isBaseRoot(path) ? String(path.dropLast()) : path)
        } catch {
            return .failure(error)
        }
        var values: [String] = []
        guard let index = find(segments, 0, 0, &values) else { return .failure(.notFound) }
        let node = nodes[index]
        var wanted = method
        if method == .head, !node.routes.contains(where: { $0.method == .head }) { wanted = .get }
        if let route = node.routes.first(where: { $0.method == wanted }) {
            return .route(route, parameters(node.names, values))
        }
        let allow = allow(node.routes)
        return method == .options ? .options(allow: allow) : .failure(.methodNotAllowed(allow: allow))
    }

    /// The default answer: the status, and its name as text.
    package static let plainFailure: @Sendable (ServerRequest, RoutingFailure) async -> ServerResponse = {
        _, failure in
        var fields = failure.fields
        fields[.contentType] = "text/plain; charset=utf-8"
        let status = failure.status
        return ServerResponse(status: status, fields: fields, body: .bytes(Array((status.reasonPhrase + "\n").utf8)))
    }

    private func isBaseRoot(_ path: String) -> Bool {
        !base.isEmpty && path.hasSuffix("/")
            && path.split(separator: "/", omittingEmptySubsequences: false).count == base.count + 2
    }

    private mutating func child(of node: Int, _ kind: SegmentKind) -> Int {
        let next = nodes.count
        switch kind {
        case .literal(let text):
            if let existing = nodes[node].literals[text] { return existing }
            nodes[node].literals[text] = next
        case .parameter:
            if let existing = nodes[node].parameter { return existing }
            nodes[node].parameter = next
        case .tail:
            if let existing = nodes[node].tail { return existing }
            nodes[node].tail = next
        }
        nodes.append(Node())
        return next
    }

    /// The node for `segments` from `position`, literals first. Backtracks where a literal leads nowhere; recursion is
    /// no deeper than the longest pattern.
    private func find(_ segments: [String], _ position: Int, _ node: Int, _ values: inout [String]) -> Int? {
        if position == segments.count { return nodes[node].routes.isEmpty ? nil : node }
        if let literal = nodes[node].literals[segments[position]],
            let found = find(segments, position + 1, literal, &values)
        {
            return found
        }
        if let parameter = nodes[node].parameter {
            values.append(segments[position])
            if let found = find(segments, position + 1, parameter, &values) { return found }
            values.removeLast()
        }
        if let tail = nodes[node].tail {
            values.append(segments[position...].joined(separator: "/"))
            return tail
        }
        return nil
    }

    private func parameters(_ names: [String], _ values: [String]) -> PathParameters {
        guard !names.isEmpty else { return PathParameters() }
        return PathParameters(Dictionary(zip(names, values)) { first, _ in first })
    }

    private func allow(_ routes: [Route]) -> String { Self.allow(routes.map(\.method)) }

    /// The value of `Allow` for these registered methods.
    package static func allow(_ registered: [HTTPRequest.Method]) -> String {
        methods.filter { method in
            method == .options || registered.contains(method) || (method == .head && registered.contains(.get))
        }.map(\.rawValue).joined(separator: ", ")
    }

    package func respond(to request: ServerRequest) async -> ServerResponse {
        await respond(to: request, match(request.method, path: request.path))
    }

    /// - Parameter match: this router's result for the request.
    package func respond(to request: ServerRequest, _ match: RouteMatch) async -> ServerResponse {
        switch match {
        case .route(let route, let parameters): await route.handler(request, parameters)
        case .options(let allow): ServerResponse(status: .noContent, fields: [.allow: allow])
        case .failure(let reason): await failure(request, reason)
        }
    }
}

private enum SegmentKind {
    case literal(String)
    case parameter(String)
    case tail(String)

    init(_ segment: String) {
        guard segment.hasPrefix("{"), segment.hasSuffix("}") else {
            self = .literal(segment)
            return
        }
        let name = String(segment.dropFirst().dropLast())
        self = name.hasSuffix("...") ? .tail(String(name.dropLast(3))) : .parameter(name)
    }

    var name: String? {
        switch self {
        case .literal: nil
        case .parameter(let name), .tail(let name): name
        }
    }
}
