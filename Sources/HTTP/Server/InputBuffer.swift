internal import Sockets

/// Bytes read and not yet used: `storage[start..<end]`.
struct InputBuffer {
    private(set) var storage: [UInt8]
    private var start = 0
    private var end = 0

    init(_ storage: [UInt8]) { self.storage = storage }

    var isEmpty: Bool { start == end }

    /// Where the buffered bytes are in `storage`. (A property cannot return a `Span` of them in Swift 6.3 without the
    /// experimental `Lifetimes`, so callers extract it: `input.storage.span.extracting(input.range)`.)
    var range: Range<Int> { start..<end }

    mutating func consume(_ count: Int) {
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }

    /// Moves buffered content of a message to `body`, and erases it here: a buffer is reused, and it may be a token.
    mutating func decode(with decoder: inout BodyDecoder, into body: inout [UInt8]) throws(WireError) {
        let used = try decoder.decode(storage.span.extracting(range), into: &body)
        let place = start..<(start + used)
        var bytes = storage.mutableSpan
        for index in place { bytes[index] = 0 }
        consume(used)
    }

    /// Reads at least one byte after the buffered ones; 0 at the end of the stream. Makes room by moving buffered bytes
    /// to the front, or by doubling; the parser's limits bound how much can be waiting.
    mutating func fill(from stream: SocketStream) async throws(StreamError) -> Int {
        if end == storage.count {
            if start > 0 {
                let moved = end - start
                storage.replaceSubrange(0..<moved, with: storage[start..<end])
                // Leave no second copy where it was: it may be content.
                storage.replaceSubrange(moved..<end, with: repeatElement(0, count: end - moved))
                end = moved
                start = 0
            } else {
                storage.append(contentsOf: repeatElement(0, count: storage.count))
            }
        }
        let count = try await stream.read(into: &storage, at: end)
        end += count
        return count
    }

    /// Returns the storage; the buffer is empty afterwards.
    mutating func release() -> [UInt8] {
        start = 0
        end = 0
        defer { storage = [] }
        return storage
    }
}
