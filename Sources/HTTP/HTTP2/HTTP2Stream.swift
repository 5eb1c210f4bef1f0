internal import HTTPTypes
internal import Sockets

/// One request that is not answered at once, until its response is sent. Belongs to its connection's loop.
final class HTTP2Stream {
    let id: Int32
    /// Until a handler has it.
    var request: ServerRequest?
    var body: [UInt8] = []
    /// Bytes that the connection's account counts for its head and content, until it is answered.
    var kept = 0
    /// Bytes that the account counts for its response, until the peer has taken all of it.
    var keptAnswer = 0
    /// Of these, bytes for the fields of its response.
    var keptFields = 0
    /// The announced `Content-Length` (RFC 9113 §8.1.1).
    let expected: Int?
    /// Bytes of its content by which the connection's window is reduced.
    var held = 0
    let isHead: Bool
    /// When the content must be complete; later, while a response waits for the peer, when it must have progressed.
    var deadline = Deadline.never
    /// The response has begun; the rest of the request is discarded.
    var isAnswered = false
    /// nghttp2 has forgotten it: reset, or ended in both directions.
    var isClosed = false
    var content: OutgoingContent?
    /// While its handler may want to know whether the client has left.
    var departure: Departure?
    /// Content taken when `deadline` was set, and all content at that time.
    private var sentAtMark = 0
    private var goal = 0
    private var waiter: CheckedContinuation<Void, Never>?

    /// Answered while still sending: how much more of that is discarded.
    var leftToDiscard: Int?

    /// - Parameter isHead: for a request refused before it was one.
    init(id: Int32, request: ServerRequest?, expected: Int? = nil, isHead: Bool = false) {
        self.id = id
        self.request = request
        self.expected = expected
        self.isHead = request.map { $0.method == .head } ?? isHead
    }

    /// Whether it waits for more of its request, or for the peer to take its response.
    var isWaiting: Bool { request != nil || waiter != nil || (content?.isFinished ?? false) }

    // MARK: Sending

    /// The peer must take a batch of the available content, at most `batch` bytes, until `deadline`.
    func expectProgress(batch: Int, until deadline: Deadline) {
        guard let content, content.pending > 0 else {
            self.deadline = .never
            return
        }
        sentAtMark = content.taken
        goal = min(batch, content.pending)
        self.deadline = deadline
    }

    /// Whether the batch was taken in time.
    var hasProgressed: Bool {
        guard let content else { return true }
        return content.taken - sentAtMark >= goal
    }

    /// Waits until the session has taken the available content, or nobody will take it.
    func waitUntilDrained() async {
        guard !isClosed, let content, content.pending > 0 else { return }
        await withCheckedContinuation { waiter = $0 }
    }

    func wake() {
        guard let waiter else { return }
        self.waiter = nil
        waiter.resume()
    }
}

/// The available content of one response on its way to the peer.
///
/// Used only on the loop of its connection: by the handler's task, and by the session when it makes DATA frames.
final class OutgoingContent {
    private var bytes: [UInt8]
    private var start = 0
    private(set) var isFinished: Bool
    private(set) var taken = 0

    init(_ bytes: [UInt8] = [], isFinished: Bool = false) {
        self.bytes = bytes
        self.isFinished = isFinished
    }

    var pending: Int { bytes.count - start }
    var isDone: Bool { isFinished && pending == 0 }

    func append(_ more: [UInt8]) {
        if start == bytes.count {
            bytes = more
            start = 0
        } else {
            bytes.append(contentsOf: more)
        }
    }

    func finish() { isFinished = true }

    func read(upTo count: Int, _ copy: (Span<UInt8>) -> Void) -> Int {
        let end = start + min(count, pending)
        copy(bytes.span.extracting(start..<end))
        let moved = end - start
        start = end
        taken += moved
        if start == bytes.count {
            bytes = []
            start = 0
        }
        return moved
    }
}
