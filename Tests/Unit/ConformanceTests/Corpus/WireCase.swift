import Testing

/// Bytes that a client sends, and what has to become of them. One row of the table in this folder.
struct WireCase: Sendable, CustomTestStringConvertible {
    /// What becomes of the connection.
    enum Ending: Hashable, Sendable {
        /// It serves the next request.
        case open
        /// It ends with the last response, and what follows is not answered.
        case closed
        /// More bytes are needed: no answer.
        case waiting
    }

    let name: String
    /// The rule: `9112 §6.1` is RFC 9112, section 6.1.
    let section: String
    let bytes: [UInt8]
    let verdicts: [Verdict]
    let ending: Ending
    /// Whether `100 Continue` may come before the last answer (RFC 9110 §10.1.1): whether it does depends on how much
    /// of the content has arrived with the head.
    let mayContinue: Bool

    var testDescription: String { name }

    /// - Parameter text: each scalar is one byte: `\u{ff}` is the byte 0xff.
    init(
        _ name: String, _ section: String, _ text: String, _ verdicts: [Verdict], _ ending: Ending,
        mayContinue: Bool = false
    ) {
        self.name = name
        self.section = section
        bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        self.verdicts = verdicts
        self.ending = ending
        self.mayContinue = mayContinue
    }

    /// Refused, after which the connection ends.
    static func refused(_ name: String, _ section: String, _ text: String, _ status: Int = 400) -> WireCase {
        WireCase(name, section, text, [.refused(status)], .closed)
    }

    static func heard(
        _ name: String, _ section: String, _ text: String, _ requests: Understood..., then ending: Ending = .open
    ) -> WireCase {
        WireCase(name, section, text, requests.map { .understood($0) }, ending)
    }

    /// Understood as `first`, and what follows is refused.
    static func refusedBehind(
        _ first: Understood, _ name: String, _ section: String, _ text: String, _ status: Int = 400
    ) -> WireCase {
        WireCase(name, section, text, [.understood(first), .refused(status)], .closed)
    }

    static func waits(_ name: String, _ section: String, _ text: String) -> WireCase {
        WireCase(name, section, text, [], .waiting)
    }
}

/// What one request, or the end of the requests, is answered with.
enum Verdict: Hashable, Sendable {
    case understood(Understood)
    case refused(Int)
}

/// What the server has to have made of a request.
struct Understood: Hashable, Sendable {
    var method: String
    var target: String
    var authority: String?
    var version: String
    /// `name: value`, in order; nil when a case is not about them.
    var fields: [String]?
    /// One scalar for each byte.
    var body: String
    var trailers: [String]

    init(
        _ method: String, _ target: String = "/", host authority: String? = "h", version: String = "HTTP/1.1",
        fields: [String]? = nil, body: String = "", trailers: [String] = []
    ) {
        self.method = method
        self.target = target
        self.authority = authority
        self.version = version
        self.fields = fields
        self.body = body
        self.trailers = trailers
    }

    static func get(_ target: String = "/", host: String? = "h", fields: [String]? = nil) -> Understood {
        Understood("GET", target, host: host, fields: fields)
    }

    static func post(_ body: String = "", trailers: [String] = [], fields: [String]? = nil) -> Understood {
        Understood("POST", fields: fields, body: body, trailers: trailers)
    }
}

/// The pieces most rows are made of.
enum Text {
    static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"

    /// A request of this line, with a Host.
    static func line(_ line: String) -> String { "\(line)\r\nHost: h\r\n\r\n" }

    /// A GET with these field lines.
    static func get(_ lines: String, version: String = "1.1") -> String {
        "GET / HTTP/\(version)\r\nHost: h\r\n\(lines)\r\n\r\n"
    }

    /// A POST with these field lines and what follows them.
    static func post(_ lines: String, _ rest: String = "", version: String = "1.1") -> String {
        "POST / HTTP/\(version)\r\nHost: h\r\n\(lines)\r\n\r\n\(rest)"
    }

    /// A POST in chunks.
    static func chunked(_ rest: String) -> String { post("Transfer-Encoding: chunked", rest) }

    /// A GET with this Host.
    static func host(_ value: String, version: String = "1.1") -> String {
        "GET / HTTP/\(version)\r\nHost: \(value)\r\n\r\n"
    }
}

extension String {
    /// `+`, which takes the compiler long in a table.
    func then(_ other: String) -> String { self + other }
}

/// One subject of the table.
struct Subject: Sendable, CustomTestStringConvertible {
    let name: String
    let cases: [WireCase]

    var testDescription: String { name }

    static let all = [
        Subject(name: "request line", cases: RequestLineCases.all), Subject(name: "targets", cases: TargetCases.all),
        Subject(name: "Host", cases: HostCases.all), Subject(name: "fields", cases: FieldCases.all),
        Subject(name: "framing", cases: FramingCases.all), Subject(name: "chunks", cases: ChunkCases.all),
        Subject(name: "trailers", cases: TrailerCases.all), Subject(name: "Expect", cases: ExpectCases.all),
        Subject(name: "persistence", cases: PersistenceCases.all),
        Subject(name: "smuggling", cases: SmugglingCases.all),
    ]
}
