import Coding

/// How one endpoint fails, until it is reset.
struct Fault: Sendable {
    enum Body: Sendable {
        case html, garbage, empty
        case huge(Int)
        case text(String)
    }

    enum Close: String, Sendable {
        case start
        case half
    }

    /// Milliseconds before anything happens.
    var delay: Int64 = 0
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

    static let hugeSize = 64 * 1024 * 1024

    /// Refuses unknown members and wrong types: a fault that silently does nothing hides what a test wanted.
    init(json: JSON) throws(ControlError) {
        for member in json.members {
            switch member.name {
            case "delay": delay = try member.requireInteger(0...3_600_000)
            case "hang": hangs = try member.requireBool()
            case "stall": stalls = try member.requireBool()
            case "status": status = Int(try member.requireInteger(200...599))
            case "body": body = try Self.body(member)
            case "hugeBytes": body = .huge(Int(try member.requireInteger(0...1_073_741_824)))
            case "close":
                guard let value = Close(rawValue: try member.requireString()) else {
                    throw .invalid("close must be \"start\" or \"half\".")
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

    private static func body(_ member: JSONObject.Member) throws(ControlError) -> Body {
        if let text = member.value["text"]?.stringValue { return .text(text) }
        switch try member.requireString() {
        case "html": return .html
        case "garbage": return .garbage
        case "empty": return .empty
        case "huge": return .huge(hugeSize)
        default: throw .invalid("body must be \"html\", \"garbage\", \"empty\", \"huge\" or {\"text\": …}.")
        }
    }

    var json: JSON {
        var json: JSON = [:]
        if delay > 0 { json["delay"] = .integer(delay) }
        if hangs { json["hang"] = true }
        if stalls { json["stall"] = true }
        json["status"] = status.map { .count($0) }
        switch body {
        case .html: json["body"] = "html"
        case .garbage: json["body"] = "garbage"
        case .empty: json["body"] = "empty"
        case .huge(let count): json["hugeBytes"] = .count(count)
        case .text(let text): json["body"] = ["text": .string(text)]
        case nil: break
        }
        json["close"] = (close?.rawValue).map(JSON.string)
        json["contentType"] = contentType.map(JSON.string)
        if requiresUserAgent { json["requireUserAgent"] = true }
        json["error"] = error.map(JSON.string)
        json["remaining"] = remaining.map { .count($0) }
        return json
    }
}

extension [Endpoint: Fault] {
    /// The fault for a request that just arrived; counts it down.
    mutating func consume(_ endpoint: Endpoint) -> Fault? {
        guard let fault = self[endpoint] else { return nil }
        if let remaining = fault.remaining {
            self[endpoint]?.remaining = remaining - 1
            if remaining <= 1 { self[endpoint] = nil }
        }
        return fault
    }

    var json: JSON {
        var json: JSON = [:]
        for endpoint in Endpoint.allCases { json[endpoint.rawValue] = self[endpoint]?.json }
        return json
    }
}
