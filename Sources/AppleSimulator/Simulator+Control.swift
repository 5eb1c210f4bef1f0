import Coding
import HTTP
import HTTPTypes

/// The JSON interface under `/simulator/api/`; docs/reference/simulator.md has every operation.
extension Simulator {
    func control(_ request: ServerRequest) async -> ServerResponse {
        // Otherwise a page of another site could use the controls on a developer's machine.
        let site = HTTPField.Name("Sec-Fetch-Site").flatMap { request.fields[$0] }
        guard site == nil || site == "same-origin" || site == "none" else {
            return .json(["error": "Another site may not use the control interface."], status: .forbidden)
        }
        let path = request.path.dropFirst("/simulator/api/".count).split(separator: "/").map(String.init)
        let isRead = request.method == .get || request.method == .head
        var body: JSON = [:]
        if !isRead, !request.body.isEmpty {
            guard let json = JSON(parsing: request.body), json.objectValue != nil else {
                return .json(["error": "The body is not a JSON object."], status: .badRequest)
            }
            body = json
        }
        do {
            return .json(try await operation(request.method, path, body))
        } catch {
            switch error {
            case .invalid(let text): return .json(["error": .string(text)], status: .badRequest)
            case .unknown(let text): return .json(["error": .string(text)], status: .notFound)
            }
        }
    }

    private func operation(
        _ method: HTTPRequest.Method, _ path: [String], _ body: JSON
    ) async throws(ControlError) -> JSON {
        switch (method, path.first, path.count) {
        case (.get, "state", 1): state()
        case (.get, "people", 1): change { world, _ in ["items": .array(world.people.map { world.json(of: $0) })] }
        case (.post, "people", 1): try addPerson(body)
        case (.post, "clients", 1): try addClient(body)
        case (.delete, "client-keys", 2): try revokeClientKey(path[1])
        case (.post, "crowd", 1): try addCrowd(body)
        case (.post, "authorize", 1): try authorize(body)
        case (.post, "native", 1): try authorizeNative(body)
        case (.post, "mint", 1): try mint(body)
        case (.post, "consents", 2) where path[1] == "revoke": try await revokeConsent(body)
        case (.post, "passwords", 1): try changePassword(body)
        case (.post, "transfers", 1): try beginTransfer(body)
        case (.get, "notifications", 1): change { world, _ in ["items": .array(world.notifications.map(\.json))] }
        case (.post, "notifications", 1): try await notify(body)
        case (.post, "notifications", 3) where path[2] == "deliver": try await deliver(path[1])
        case (.post, "keys", 2): try changeKeys(path[1], body)
        case (.get, "keys", 1), (.put, "keys", 1): try setKeys(body)
        case (.get, "faults", 1): change { world, _ in world.faults.json }
        case (.put, "faults", 2): try setFault(path[1], body)
        case (.delete, "faults", 2): try setFault(path[1], nil)
        case (.delete, "faults", 1): resetFaults()
        case (.post, "faults", 2) where path[1] == "reset": resetFaults()
        case (.get, "tokens", 1), (.put, "tokens", 1): try setTokens(body)
        case (.delete, "tokens", 1):
            change { world, _ in
                world.quirks = TokenQuirks()
                return world.quirks.json
            }
        case (.get, "behaviour", 1), (.put, "behaviour", 1): try setBehaviour(body)
        case (.put, "clock", 1): try setClock(body)
        case (.get, "counters", 1): change { world, _ in world.counters.json }
        case (.delete, "counters", 1):
            change { world, _ in
                world.counters = Counters()
                return world.counters.json
            }
        case (.get, "journal", 1): change { world, _ in world.journal.json }
        case (.post, "reset", 1): reset()
        default: throw .unknown("There is no \(method.rawValue) /simulator/api/\(path.joined(separator: "/")).")
        }
    }

    private func resetFaults() -> JSON {
        change { world, _ in world.faults = [:] }
        releaseHeld()
        return [:]
    }

    private func setFault(_ name: String, _ body: JSON?) throws(ControlError) -> JSON {
        guard let endpoint = Endpoint(rawValue: name) else {
            throw .unknown("The endpoints are \(Endpoint.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        var fault: Fault?
        if let body { fault = try Fault(json: body) }
        let json = change { world, _ in
            world.faults[endpoint] = fault
            return world.faults.json
        }
        if fault == nil { releaseHeld() }
        return json
    }

    private func setTokens(_ body: JSON) throws(ControlError) -> JSON {
        try change { world, _ throws(ControlError) in
            var quirks = world.quirks
            try quirks.update(body)
            world.quirks = quirks
            return quirks.json
        }
    }

    private func setBehaviour(_ body: JSON) throws(ControlError) -> JSON {
        try change { world, _ throws(ControlError) in
            var behaviour = world.behaviour
            for member in body.members {
                switch member.name {
                case "errorAfterRevocation": behaviour.errorAfterRevocation = try member.requireString()
                case "notifiesOnRevoke": behaviour.notifiesOnRevoke = try member.requireBool()
                case "describesErrors": behaviour.describesErrors = try member.requireBool()
                case "issuer": behaviour.issuer = member.value == .null ? nil : try member.requireString()
                case "notificationURL": world.notificationURL = try member.requireString()
                default: throw .invalid("Behaviour has no member \"\(member.name)\".")
                }
            }
            world.behaviour = behaviour
            var json = behaviour.json
            json["notificationURL"] = .text(world.notificationURL)
            return json
        }
    }

    private func setClock(_ body: JSON) throws(ControlError) -> JSON {
        guard let member = body.members.first(where: { $0.name == "offset" }) else {
            throw .invalid("offset, in seconds, is missing.")
        }
        let seconds = try member.requireInteger(-10_000_000_000...10_000_000_000)
        return change { world, _ in
            world.clockOffset = seconds * 1000
            return ["offset": .integer(seconds)]
        }
    }

    /// The state after a start, except that the keys stay: a relying party may have cached them.
    private func reset() -> JSON {
        change { world, _ in
            var keys = world.keys
            keys.mode = .normal
            keys.foreign = []
            world = World(configuration: configuration, keys: keys)
        }
        releaseHeld()
        return [:]
    }
}

enum ControlError: Error, Sendable {
    case invalid(String)
    case unknown(String)
}

extension JSONObject.Member {
    func requireString() throws(ControlError) -> String {
        guard let string = value.stringValue else { throw .invalid("\(name) must be a string.") }
        return string
    }

    func requireBool() throws(ControlError) -> Bool {
        guard let bool = value.boolValue else { throw .invalid("\(name) must be true or false.") }
        return bool
    }

    func requireInteger(_ range: ClosedRange<Int64>) throws(ControlError) -> Int64 {
        guard let integer = value.integer, range.contains(integer) else {
            throw .invalid("\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return integer
    }

    func requireObject() throws(ControlError) -> JSONObject {
        guard let object = value.objectValue else { throw .invalid("\(name) must be an object.") }
        return object
    }

    func requireCase<Value: RawRepresentable<String>>() throws(ControlError) -> Value {
        guard let string = value.stringValue, let found = Value(rawValue: string) else {
            throw .invalid("\(name) cannot be \(value.text).")
        }
        return found
    }
}
