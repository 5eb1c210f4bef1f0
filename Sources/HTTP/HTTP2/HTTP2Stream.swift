internal import HTTPTypes
internal import Sockets

/// One request that is not answered at once, from its head to the last byte of its response. Belongs to the loop of
/// its connection.
final class HTTP2Stream {
    let id: Int32
    /// Until a handler has it.
    var request: ServerRequest?
    var body: [UInt8] = []
    /// Bytes the connection's account counts for its head and its content, until it is answered.
    var kept = 0
    /// Bytes the account counts for its response, until the peer has taken all of it.
    var keptAnswer = 0
    /// Bytes of that for the fields of its response.
    var keptFields = 0
    /// What `Content-Length` announced (RFC 9113 §8.1.1).
    let expected: Int?
    /// Bytes of content the connection's window is short of for it.
    var held = 0
    let isHead: Bool
    /// When the content must be whole; then, while a response waits for the peer, when it must have moved on.
    var deadline = Deadline.never
    /// The response has begun; what still comes of the request is thrown away.
    var isAnswered = false
    /// nghttp2 has forgotten it: reset, or ended in both directions.
    var isClosed = false
    var content: OutgoingContent?
    /// How much had been taken of the content when `deadline` was set, and how much there was in all.
    private var takenAtMark = 0
    private var goal = 0
    private var waiter: CheckedContinuation<Void, Never>?

    /// Answered, and still sending: how much more of that is thrown away.
    var leftToDiscard: Int?

    /// - Parameter isHead: for what is refused before it is a request.
    init(id: Int32, request: ServerRequest?, expected: Int? = nil, isHead: Bool = false) {
        self.id = id
        self.request = request
        self.expected = expected
        self.isHead = request.map { $0.method == .head } ?? isHead
    }

    /// For more of its request, or for the peer to take its response.
    var isWaiting: Bool { request != nil || waiter != nil || (content?.isFinished ?? false) }

    // MARK: Sending

    /// The peer must take a batch of what is here, at most `batch` bytes, until `deadline`.
    func expectProgress(batch: Int, until deadline: Deadline) {
        guard let content, content.pending > 0 else {
            self.deadline = .never
            return
        }
        takenAtMark = content.taken
        goal = min(batch, content.pending)
        self.deadline = deadline
    }

    /// Whether the batch was taken in time.
    var hasProgressed: Bool {
        guard let content else { return true }
        return content.taken - takenAtMark >= goal
    }

    /// Waits until the session has taken what is here, or there is nobody to take it.
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
