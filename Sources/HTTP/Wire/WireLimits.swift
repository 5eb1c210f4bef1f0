/// Sizes and counts beyond which a message is refused. Each is inclusive: a message of exactly the limit is accepted.
package struct WireLimits: Hashable, Sendable {
    /// Bytes of the request line (or status line), its CRLF included; beyond it 414.
    package var requestLine: Int
    /// Bytes of all field lines together, with their CRLFs and the empty line; beyond it 431.
    package var headerBlock: Int
    /// Field lines of one head, and of one trailer section; beyond it 431.
    package var fieldCount: Int
    /// Decoded bytes of the content; beyond it 413.
    package var body: Int
    /// Bytes of one chunk-size line, its extensions and CRLF included; beyond it 400.
    package var chunkLine: Int
    /// Bytes of all chunk extensions of one body together; beyond it 400. Without it, one-byte chunks with long
    /// extensions would cost a hundred times what `body` allows.
    package var chunkExtensions: Int
    /// Bytes of the trailer section with the empty line that ends it; beyond it 431.
    package var trailerBlock: Int

    package init(
        requestLine: Int = 8192, headerBlock: Int = 16_384, fieldCount: Int = 100, body: Int = 65_536,
        chunkLine: Int = 256, chunkExtensions: Int = 4096, trailerBlock: Int = 4096
    ) {
        self.requestLine = requestLine
        self.headerBlock = headerBlock
        self.fieldCount = fieldCount
        self.body = body
        self.chunkLine = chunkLine
        self.chunkExtensions = chunkExtensions
        self.trailerBlock = trailerBlock
    }
}
