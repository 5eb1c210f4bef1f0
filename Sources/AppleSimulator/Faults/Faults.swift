/// How one endpoint fails, until it is reset.
struct Fault: Sendable {
    enum Body: Sendable {
        case html, garbage, empty
        /// This many bytes of filler.
        case huge(Int)
        case text(String)
    }

    enum Close: String, Sendable {
        /// Nothing of the content is sent.
        case start
        /// Half of the content is sent.
        case half
    }

    /// Milliseconds before anything happens.
    var delay: Int64 = 0
    /// Does not answer until the fault is reset.
    var hangs = false
    /// Sends the head and half of the content, then nothing more until the fault is reset.
    var stalls = false
    var status: Int?
    var body: Body?
    var close: Close?
    var contentType: String?
    /// 403 when the request names no `User-Agent`.
    var requiresUserAgent = false
    /// An OAuth error, in JSON with status 400.
    var error: String?
    /// How many more requests are affected; nil: all.
    var remaining: Int?
}

struct Faults: Sendable {
    private(set) var active: [Endpoint: Fault] = [:]

    /// The fault for a request that just arrived; counts it down.
    mutating func consume(_ endpoint: Endpoint) -> Fault? {
        guard let fault = active[endpoint] else { return nil }
        if let remaining = fault.remaining {
            active[endpoint]?.remaining = remaining - 1
            if remaining <= 1 { active[endpoint] = nil }
        }
        return fault
    }

    mutating func set(_ fault: Fault?, for endpoint: Endpoint) { active[endpoint] = fault }
    mutating func reset() { active = [:] }

    var json: JSON {
        .object(
            Endpoint.allCases.compactMap { endpoint in
                active[endpoint].map { JSON.Member(name: endpoint.rawValue, value: $0.json) }
            })
    }
}

extension Fault {
    static let hugeSize = 64 * 1024 * 1024

    /// Refuses unknown members and wrong types: a fault that silently does nothing hides what a test wanted.
    init(json: JSON) throws(ControlError) {
        guard let members = json.members else { throw .invalid("A fault is a JSON object.") }
        for member in members {
            switch member.name {
            case "delay": delay = try member.requireInteger(0...3_600_000)
            case "hang": hangs = try member.requireBool()
            case "stall": stalls = try member.requireBool()
            case "status": status = Int(try member.requireInteger(200...599))
            case "body": body = try Self.body(member)
            case "hugeBytes": body = .huge(Int(try member.requireInteger(0...1_073_741_824)))
            case "close":
                guard let value = Close(rawValue: try member.requireString()) else {
                    throw .invalid("close is \"start\" or \"half\".")
                }
                close = value
            case "contentType": contentType = try member.requireString()
            case "requireUserAgent": requiresUserAgent = try member.requireBool()
            case "error": error = try member.requireString()
            case "remaining": remaining = Int(try member.requireInteger(1...1_000_000))
            default: throw .invalid("A fault has no member \"\(member.name)\".")
            }
        }
    }

    private static func body(_ member: JSON.Member) throws(ControlError) -> Body {
        if let text = member.value["text"]?.string { return .text(text) }
        switch try member.requireString() {
        case "html": return .html
        case "garbage": return .garbage
        case "empty": return .empty
        case "huge": return .huge(hugeSize)
        default: throw .invalid("body is \"html\", \"garbage\", \"empty\", \"huge\" or {\"text\": …}.")
        }
    }

    var json: JSON {
        var members: [JSON.Member] = []
        func add(_ name: String, _ value: JSON) { members.append(JSON.Member(name: name, value: value)) }
        if delay > 0 { add("delay", .integer(delay)) }
        if hangs { add("hang", true) }
        if stalls { add("stall", true) }
        if let status { add("status", .integer(Int64(status))) }
        switch body {
        case .html: add("body", "html")
        case .garbage: add("body", "garbage")
        case .empty: add("body", "empty")
        case .huge(let count): add("hugeBytes", .integer(Int64(count)))
        case .text(let text): add("body", ["text": .string(text)])
        case nil: break
        }
        if let close { add("close", .string(close.rawValue)) }
        if let contentType { add("contentType", .string(contentType)) }
        if requiresUserAgent { add("requireUserAgent", true) }
        if let error { add("error", .string(error)) }
        if let remaining { add("remaining", .integer(Int64(remaining))) }
        return .object(members)
    }
}
