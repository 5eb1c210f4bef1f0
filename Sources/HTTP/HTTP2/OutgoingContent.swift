/// The content of one response on its way to the peer, as much of it as is here.
///
/// Touched on the loop of its connection alone: by the handler's task, and by the session when it makes DATA frames.
final class OutgoingContent {
    private var bytes: [UInt8]
    private var start = 0
    /// Nothing more will be appended.
    private(set) var isFinished: Bool
    /// How many bytes the session has taken so far.
    private(set) var taken = 0

    init(_ bytes: [UInt8] = [], isFinished: Bool = false) {
        self.bytes = bytes
        self.isFinished = isFinished
    }

    var pending: Int { bytes.count - start }
    /// The session has all there will be.
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

    /// Hands over at most `count` bytes.
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
