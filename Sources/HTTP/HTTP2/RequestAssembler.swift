internal import HTTPTypes

/// Turns the fields of one HEADERS block into the head that an HTTP/1.1 client would have sent, so that the one parser
/// decides what a request may be: nothing reaches a handler by HTTP/2 that HTTP/1.1 would refuse.
///
/// Judged here is what HTTP/1.1 cannot express (RFC 9113 §8.2 and §8.3): pseudo-fields, names in lower case, connection
/// fields, and every byte that could end a line early.
struct RequestAssembler: Sendable {
    enum Failure: Error, Hashable, Sendable {
        /// RFC 9113 §8.1.1: a stream error of type PROTOCOL_ERROR. A fixed text for the log.
        case malformed(String)
        /// A request that gets an answer: it is too large, or asks for something not implemented.
        case refused(WireError)
    }

    private let limits: WireLimits
    private(set) var failure: Failure?
    private var head: [UInt8] = []
    private(set) var trailers = HTTPFields()
    /// The size of the list as RFC 9113 §6.5.2 counts it, however much of it was kept.
    private(set) var listSize = 0
    private var isTrailers = false
    private var pseudo: [UInt8] = []
    private var method: ByteRange?
    private var path: ByteRange?
    private var scheme: ByteRange?
    private var authority: ByteRange?
    private var hasRegularFields = false
    private var hasHost = false
    private var cookies: [UInt8] = []
    private var count = 0
    /// The size of the trailer section in HTTP/1.1.
    private(set) var trailerBytes = 2

    init(limits: WireLimits) { self.limits = limits }

    mutating func begin(trailers isTrailers: Bool) {
        self.isTrailers = isTrailers
        failure = nil
        listSize = 0
        count = 0
        if isTrailers {
            trailers = HTTPFields()
            trailerBytes = 2
            return
        }
        release()
        method = nil
        path = nil
        scheme = nil
        authority = nil
        hasRegularFields = false
        hasHost = false
    }

    /// Erases what was assembled: a head may hold a cookie or a credential.
    mutating func release() {
        head.removeAll(keepingCapacity: head.capacity <= 4096)
        pseudo.removeAll(keepingCapacity: pseudo.capacity <= 4096)
        cookies.removeAll(keepingCapacity: cookies.capacity <= 4096)
    }

    /// Arrays to assemble in, used by connections in turn.
    struct Storage: Sendable {
        fileprivate var head: [UInt8] = []
        fileprivate var pseudo: [UInt8] = []
        fileprivate var cookies: [UInt8] = []
    }

    private(set) var hasStorage = false

    /// Bytes reserved for assembling.
    var capacity: Int { head.capacity + pseudo.capacity + cookies.capacity + trailerBytes }

    mutating func adopt(_ storage: consuming Storage) {
        head = storage.head
        pseudo = storage.pseudo
        cookies = storage.cookies
        hasStorage = true
    }

    /// Returns the storage, while nothing is assembled.
    mutating func releaseStorage() -> Storage {
        release()
        hasStorage = false
        trailers = HTTPFields()
        defer {
            head = []
            pseudo = []
            cookies = []
        }
        return Storage(head: head, pseudo: pseudo, cookies: cookies)
    }

    mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        listSize += name.count + value.count + 32
        guard failure == nil else { return }
        do {
            if name.count > 0, name[0] == ASCII.colon {
                try addPseudo(name, value)
            } else if isTrailers {
                try addTrailer(name, value)
            } else {
                try addField(name, value)
            }
        } catch {
            failure = error
        }
    }

    /// Whether these fields ask for no content (RFC 9110 §9.3.2), whatever else they are.
    var isHead: Bool {
        guard let method else { return false }
        return equalsExactly(pseudo.span, method.range, "HEAD")
    }

    /// Returns the head in HTTP/1.1's form; its storage may be returned later.
    mutating func consumeHead() throws(Failure) -> [UInt8] {
        try finish()
        defer { head = [] }
        return head
    }

    mutating func returnStorage(_ storage: consuming [UInt8]) {
        guard storage.capacity <= 4096 else { return }
        storage.removeAll(keepingCapacity: true)
        head = storage
    }

    mutating func finish() throws(Failure) {
        if let failure { throw failure }
        guard !isTrailers else { return }
        if !hasRegularFields { try writeRequestLine() }
        if !cookies.isEmpty {
            append("cookie: ")
            head.append(contentsOf: cookies)
            append("\r\n")
        }
        append("\r\n")
    }

    // MARK: Pseudo-fields, RFC 9113 §8.3

    private mutating func addPseudo(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(Failure) {
        guard !isTrailers else { throw .malformed("pseudo-field in a trailer section") }
        guard !hasRegularFields else { throw .malformed("pseudo-field after a field") }
        for index in value.indices {
            guard value[index] > 0x20, value[index] < 0x7f else { throw .malformed("character in a pseudo-field") }
        }
        let all = 0..<name.count
        let range = ByteRange(pseudo.count, pseudo.count + value.count)
        if equalsExactly(name, all, ":method") {
            try Self.set(&method, range)
        } else if equalsExactly(name, all, ":path") {
            try Self.set(&path, range)
        } else if equalsExactly(name, all, ":scheme") {
            try Self.set(&scheme, range)
        } else if equalsExactly(name, all, ":authority") {
            try Self.set(&authority, range)
        } else {
            // Including `:protocol`: RFC 8441 needs a setting that we do not send.
            throw .malformed("unknown pseudo-field")
        }
        guard pseudo.count + value.count <= limits.requestLine + limits.headerBlock else {
            throw .refused(range == path ? .requestLineTooLong : .headerTooLarge)
        }
        append(value, to: &pseudo)
    }

    private static func set(_ part: inout ByteRange?, _ range: ByteRange) throws(Failure) {
        guard part == nil else { throw .malformed("pseudo-field twice") }
        part = range
    }

    private mutating func writeRequestLine() throws(Failure) {
        guard let method, !method.isEmpty else { throw .malformed("no :method") }
        if equalsExactly(pseudo.span, method.range, "CONNECT") {
            // RFC 9113 §8.5.
            guard authority != nil, path == nil, scheme == nil else { throw .malformed("CONNECT with :path") }
            throw .refused(.connectRefused)
        }
        guard let scheme, let path else { throw .malformed("no :scheme or :path") }
        guard equalsExactly(pseudo.span, scheme.range, "https") || equalsExactly(pseudo.span, scheme.range, "http")
        else { throw .malformed("unknown scheme") }
        // RFC 9113 §8.3.1: a path, or the asterisk, which the parser accepts only for OPTIONS.
        guard let first = path.isEmpty ? nil : pseudo[path.range.lowerBound],
            first == ASCII.slash || (first == ASCII.asterisk && path.count == 1)
        else { throw .malformed(":path is not a path") }
        head.append(contentsOf: pseudo[method.range])
        head.append(ASCII.space)
        head.append(contentsOf: pseudo[path.range])
        append(" HTTP/1.1\r\n")
        guard let authority else { return }
        append("host: ")
        head.append(contentsOf: pseudo[authority.range])
        append("\r\n")
    }

    // MARK: Fields, RFC 9113 §8.2

    private mutating func addField(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(Failure) {
        if !hasRegularFields {
            try writeRequestLine()
            hasRegularFields = true
        }
        try Self.check(name, value)
        let known = KnownFieldNames.shared.field(in: name, 0, name.count)
        try Self.checkConnection(known, name, value)
        if known == .cookie { return try addCookie(value) }
        count += 1
        guard count <= limits.fieldCount else { throw .refused(.tooManyFields) }
        if known == .host, let authority {
            guard !hasHost else { throw .refused(.duplicateHost) }
            hasHost = true
            // RFC 9113 §8.3.1: the two hosts must agree.
            guard equalFolded(value, pseudo.span.extracting(authority.range)) else {
                throw .malformed("Host is not :authority")
            }
            return
        }
        try reserve(name.count + value.count + 4)
        append(name, to: &head)
        append(": ")
        append(value, to: &head)
        append("\r\n")
    }

    /// RFC 9113 §8.2.3: joins split cookies again.
    private mutating func addCookie(_ value: Span<UInt8>) throws(Failure) {
        if cookies.isEmpty {
            count += 1
            guard count <= limits.fieldCount else { throw .refused(.tooManyFields) }
        } else {
            cookies.append(ASCII.semicolon)
            cookies.append(ASCII.space)
        }
        try reserve(value.count + 2)
        append(value, to: &cookies)
    }

    private func reserve(_ more: Int) throws(Failure) {
        // Somewhat more than the parser accepts, so that the parser says which limit applies.
        guard head.count + cookies.count + more <= limits.requestLine + limits.headerBlock + 64 else {
            throw .refused(.headerTooLarge)
        }
    }

    private mutating func addTrailer(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(Failure) {
        try Self.check(name, value)
        try Self.checkConnection(KnownFieldNames.shared.field(in: name, 0, name.count), name, value)
        count += 1
        trailerBytes += name.count + value.count + 4
        guard count <= limits.fieldCount, trailerBytes <= limits.trailerBlock else { throw .refused(.trailerTooLarge) }
        if let name = HTTPField.Name(ByteRange(0, name.count).string(in: name)), TrailerFields.isAllowed(name) {
            trailers.append(HTTPField(name: name, value: ByteRange(0, value.count).string(in: value)))
        }
    }

    private static func check(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(Failure) {
        guard name.count > 0 else { throw .malformed("empty field name") }
        let token = ByteClass.token
        for index in name.indices {
            let byte = name[index]
            guard token.contains(byte), byte < 0x41 || byte > 0x5a else { throw .malformed("field name") }
        }
        for index in value.indices {
            guard ByteClass.isFieldValue(value[index]) else { throw .malformed("field value") }
        }
        guard value.count > 0 else { return }
        guard !ByteClass.isBlank(value[0]), !ByteClass.isBlank(value[value.count - 1]) else {
            throw .malformed("space around a field value")
        }
    }

    /// RFC 9113 §8.2.2.
    private static func checkConnection(
        _ known: KnownField, _ name: Span<UInt8>, _ value: Span<UInt8>
    ) throws(Failure) {
        switch known {
        case .connection, .keepAlive, .transferEncoding, .upgrade:
            throw .malformed("field about the connection")
        case .te:
            guard equalsIgnoringCase(value, 0..<value.count, "trailers") else { throw .malformed("TE") }
        case .other:
            if equalsExactly(name, 0..<name.count, "proxy-connection") {
                throw .malformed("field about the connection")
            }
        default: return
        }
    }

    private mutating func append(_ text: String) { head.append(contentsOf: text.utf8) }

    private func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        output.append(addingCapacity: bytes.count) { (target: inout OutputSpan<UInt8>) in
            for index in bytes.indices { target.append(bytes[index]) }
        }
    }

    private func equalFolded(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where ASCII.folded(left[index]) != ASCII.folded(right[index]) { return false }
        return true
    }
}

/// Whether `range` of `bytes` spells `text`, which is ASCII.
func equalsExactly(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: String) -> Bool {
    guard range.count == text.utf8.count else { return false }
    var index = range.lowerBound
    for expected in text.utf8 {
        guard bytes[index] == expected else { return false }
        index += 1
    }
    return true
}
