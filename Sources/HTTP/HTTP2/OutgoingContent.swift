/// The available content of one response on its way to the peer.
///
/// Used only on the loop of its connection: by the handler's task, and by the session when it makes DATA frames.
final class OutgoingContent {
    private var bytes: [UInt8]
    private var start = 0
    /// Nothing more will be appended.
    private(set) var isFinished: Bool
    /// Bytes the session has taken so far.
    private(set) var taken = 0

    init(_ bytes: [UInt8] = [], isFinished: Bool = false) {
        self.bytes = bytes
        self.isFinished = isFinished
    }

    var pending: Int { bytes.count - start }
    /// The session has taken all of it.
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

    /// Passes on at most `count` bytes.
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
