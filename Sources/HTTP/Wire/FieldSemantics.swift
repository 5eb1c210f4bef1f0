/// What the fields of one head say about framing and the connection, collected line by line, so that a contradiction is
/// refused as soon as its line is complete.
struct FieldSemantics: Sendable {
    private(set) var contentLength: Int?
    private(set) var isChunked = false
    private(set) var saysClose = false
    private(set) var saysKeepAlive = false

    /// RFC 9112 §6.1 and §6.2: one Content-Length, one number, no list, not together with Transfer-Encoding.
    mutating func recordContentLength(_ bytes: Span<UInt8>, _ range: ByteRange, maximum: Int) throws(WireError) {
        guard !isChunked else { throw .contentLengthWithTransferEncoding }
        guard contentLength == nil else { throw .duplicateContentLength }
        guard !range.isEmpty else { throw .invalidContentLength }
        var value = 0
        for index in range.range {
            let byte = bytes[index]
            guard byte >= ASCII.zero, byte <= ASCII.nine else { throw .invalidContentLength }
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(Int(byte &- ASCII.zero))
            guard !overflowed, !carried else { throw .invalidContentLength }
            value = sum
        }
        guard value <= maximum else { throw .bodyTooLarge }
        contentLength = value
    }

    /// RFC 9112 §6.1: only `chunked` is implemented. An unknown coding is 501. `chunked` that is not last, repeated or
    /// has parameters, and any coding on HTTP/1.0, make the end of the message a guess and are 400.
    mutating func recordTransferEncoding(
        _ bytes: Span<UInt8>, _ range: ByteRange, minorVersion: UInt8
    ) throws(WireError) {
        guard contentLength == nil else { throw .contentLengthWithTransferEncoding }
        guard minorVersion > 0 else { throw .transferEncodingOnHTTP10 }
        guard !isChunked else { throw .invalidTransferEncoding }
        if equalsIgnoringCase(bytes, range.range, "chunked") {
            isChunked = true
            return
        }
        var sawChunked = false
        var list = TokenList(range.range)
        while let token = list.next(bytes) {
            guard !token.isEmpty, list.isValid, !sawChunked else { throw .invalidTransferEncoding }
            sawChunked = equalsIgnoringCase(bytes, token, "chunked")
        }
        throw list.isValid && !range.isEmpty && list.count > 0 && !(sawChunked && list.count == 1)
            ? .unknownTransferCoding : .invalidTransferEncoding
    }

    /// `Connection = #connection-option` (RFC 9110 §7.6.1).
    mutating func recordConnection(_ bytes: Span<UInt8>, _ range: ByteRange) throws(WireError) {
        if equalsIgnoringCase(bytes, range.range, "keep-alive") {
            saysKeepAlive = true
            return
        }
        var list = TokenList(range.range)
        while let token = list.next(bytes) {
            guard list.isValid else { throw .invalidConnection }
            if equalsIgnoringCase(bytes, token, "close") {
                saysClose = true
            } else if equalsIgnoringCase(bytes, token, "keep-alive") {
                saysKeepAlive = true
            }
        }
    }

    /// RFC 9112 §9.3.
    func keepAlive(minorVersion: UInt8) -> Bool { !saysClose && (minorVersion > 0 || saysKeepAlive) }
}

/// Iterates over a comma-separated list of tokens (RFC 9110 §5.6.1). Skips empty elements, as recipients must.
struct TokenList {
    private var position: Int
    private let end: Int
    /// False once an element was not a token.
    private(set) var isValid = true
    private(set) var count = 0

    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// The next element without surrounding whitespace; nil at the end.
    mutating func next(_ bytes: Span<UInt8>) -> Range<Int>? {
        while position < end {
            var start = position
            while position < end, bytes[position] != ASCII.comma { position += 1 }
            var stop = position
            position += 1
            while start < stop, ByteClass.isBlank(bytes[start]) { start += 1 }
            while stop > start, ByteClass.isBlank(bytes[stop - 1]) { stop -= 1 }
            guard start < stop else { continue }
            count += 1
            for index in start..<stop where !ByteClass.token.contains(bytes[index]) { isValid = false }
            return start..<stop
        }
        return nil
    }
}
