/// Sizes and counts beyond which a message is refused. Each is inclusive: a message of exactly the limit is accepted.
package struct WireLimits: Hashable, Sendable {
    /// Bytes of the request line (or status line), its CRLF included; beyond it 414.
    package var requestLine = 8192
    /// Bytes of all field lines together, with their CRLFs and the empty line; beyond it 431.
    package var headerBlock = 16_384
    /// Field lines of one head, and of one trailer section; beyond it 431.
    package var fieldCount = 100
    /// Decoded bytes of the content; beyond it 413.
    package var body = 65_536
    /// Bytes of one chunk-size line, its extensions and CRLF included; beyond it 400.
    package var chunkLine = 256
    /// Bytes of all chunk extensions of one body together; beyond it 400. Without it, one-byte chunks with long
    /// extensions would cost a hundred times what `body` allows.
    package var chunkExtensions = 4096
    /// Bytes of the trailer section with the empty line that ends it; beyond it 431.
    package var trailerBlock = 4096

    package init(_ change: (inout WireLimits) -> Void = { _ in }) { change(&self) }
}
