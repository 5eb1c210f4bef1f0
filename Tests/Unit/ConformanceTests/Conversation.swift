import HTTP

/// What a server makes of one connection's bytes: the requests it understood, then the refusal, if any.
enum Heard: Hashable, Sendable, CustomStringConvertible {
    /// Method, target and content.
    case request(String)
    case refused(Int)

    var description: String {
        switch self {
        case .request(let text): text
        case .refused(let status): "refused \(status)"
        }
    }
}

/// Listens to `bytes` as a connection does: heads and contents in turn, until the end, a refusal, or a request after
/// which the connection closes.
/// - Parameter pieces: how many bytes arrive at a time.
func listen(to bytes: [UInt8], pieces: Int = .max, limits: WireLimits = WireLimits()) -> [Heard] {
    let conversation = Conversation(limits: limits)
    var start = 0
    while start < bytes.count, !conversation.isOver {
        let end = min(bytes.count, pieces == .max ? bytes.count : start + pieces)
        conversation.receive(Array(bytes[start..<end]))
        start = end
    }
    return conversation.heard
}

/// The same in two pieces.
func listen(to bytes: [UInt8], cutAt split: Int) -> [Heard] {
    let conversation = Conversation(limits: WireLimits())
    conversation.receive(Array(bytes[..<split]))
    if !conversation.isOver { conversation.receive(Array(bytes[split...])) }
    return conversation.heard
}

private final class Conversation {
    private(set) var heard: [Heard] = []
    private(set) var isOver = false
    private let limits: WireLimits
    private var parser: RequestParser
    private var decoder: BodyDecoder?
    private var buffer: [UInt8] = []
    private var content: [UInt8] = []
    private var title = ""
    private var keepAlive = true

    init(limits: WireLimits) {
        self.limits = limits
        parser = RequestParser(limits: limits)
    }

    func receive(_ bytes: [UInt8]) {
        buffer += bytes
        do throws(WireError) {
            while !isOver, !buffer.isEmpty, try advance() {}
        } catch {
            heard.append(.refused(error.status))
            isOver = true
        }
    }

    /// False when more bytes are needed.
    private func advance() throws(WireError) -> Bool {
        if decoder == nil {
            let bytes = buffer
            guard let length = try parser.parse(bytes.span) else { return false }
            let head = parser.head
            title = head.methodRange.string(in: bytes.span) + " " + head.target.string(in: bytes.span)
            keepAlive = head.keepAlive
            decoder = BodyDecoder(framing: head.framing, limits: limits)
            parser.reset()
            buffer.removeSubrange(..<length)
        }
        guard var current = decoder else { return false }
        let bytes = buffer
        let used = try current.decode(bytes.span, into: &content)
        decoder = current
        buffer.removeSubrange(..<used)
        guard current.isComplete else { return false }
        heard.append(.request(title + (content.isEmpty ? "" : " " + String(decoding: content, as: UTF8.self))))
        content = []
        decoder = nil
        isOver = !keepAlive
        return true
    }
}
