package import HTTPTypes

/// How the content of a response we send is delimited.
package enum ResponseFraming: Hashable, Sendable {
    /// No content and no field about it: 1xx, 204, 304.
    case none
    /// `Content-Length`; for a HEAD the length a GET would have had.
    case length(Int)
    /// `Transfer-Encoding: chunked`; never to HTTP/1.0.
    case chunked
    /// Ended by closing the connection: a stream to HTTP/1.0.
    case untilClose
}

/// Appends responses to a buffer (RFC 9112 §4–§7). Nothing else sets framing, connection and date.
package enum ResponseSerializer {
    /// Appends status line, fields and the empty line.
    /// - Parameters:
    ///   - date: the value of `Date`, an IMF-fixdate.
    ///   - connection: the value of `Connection`: nil keeps HTTP/1.1 open, HTTP/1.0 needs `keep-alive`.
    /// - Returns: the number of fields left out because their value contained CR, LF or NUL. Anything but 0 is our own
    ///   mistake and should be logged as an error.
    @discardableResult
    package static func appendHead(
        status: HTTPResponse.Status, fields: HTTPFields, framing: ResponseFraming, date: [UInt8],
        connection: String?, into output: inout [UInt8]
    ) -> Int {
        appendStatusLine(status, into: &output)
        output.append(contentsOf: "Date: ".utf8)
        output.append(contentsOf: date)
        output.append(contentsOf: "\r\n".utf8)
        var refused = 0
        for field in fields where !isOurs(field.name) {
            if !appendField(field, into: &output) { refused += 1 }
        }
        switch framing {
        case .none, .untilClose: break
        case .length(let count):
            output.append(contentsOf: "Content-Length: ".utf8)
            Decimal.append(count, into: &output)
            output.append(contentsOf: "\r\n".utf8)
        case .chunked: output.append(contentsOf: "Transfer-Encoding: chunked\r\n".utf8)
        }
        if let connection {
            output.append(contentsOf: "Connection: ".utf8)
            output.append(contentsOf: connection.utf8)
            output.append(contentsOf: "\r\n".utf8)
        }
        output.append(contentsOf: "\r\n".utf8)
        return refused
    }

    /// Appends the interim response that a client with an expectation waits for (RFC 9110 §15.2.1).
    package static func appendContinue(into output: inout [UInt8]) {
        output.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8)
    }

    /// Appends one chunk; nothing for an empty one, which would end the content.
    package static func appendChunk(_ bytes: [UInt8], into output: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        output.append(contentsOf: String(bytes.count, radix: 16).utf8)
        output.append(contentsOf: "\r\n".utf8)
        output.append(contentsOf: bytes)
        output.append(contentsOf: "\r\n".utf8)
    }

    package static func appendLastChunk(into output: inout [UInt8]) {
        output.append(contentsOf: "0\r\n\r\n".utf8)
    }

    private static func appendStatusLine(_ status: HTTPResponse.Status, into output: inout [UInt8]) {
        switch status.code {
        case 200: output.append(contentsOf: "HTTP/1.1 200 OK\r\n".utf8)
        case 204: output.append(contentsOf: "HTTP/1.1 204 No Content\r\n".utf8)
        case 303: output.append(contentsOf: "HTTP/1.1 303 See Other\r\n".utf8)
        case 304: output.append(contentsOf: "HTTP/1.1 304 Not Modified\r\n".utf8)
        default:
            output.append(contentsOf: "HTTP/1.1 ".utf8)
            Decimal.append(status.code, into: &output)
            output.append(ASCII.space)
            // RFC 9112 §4: the phrase may be empty, but the space before it is required.
            if OutgoingText.isSafe(status.reasonPhrase) { output.append(contentsOf: status.reasonPhrase.utf8) }
            output.append(contentsOf: "\r\n".utf8)
        }
    }

    static func appendField(_ field: HTTPField, into output: inout [UInt8]) -> Bool {
        let value = field.value
        guard OutgoingText.isSafe(value) else { return false }
        output.append(contentsOf: field.name.rawName.utf8)
        output.append(contentsOf: ": ".utf8)
        output.append(contentsOf: value.utf8)
        output.append(contentsOf: "\r\n".utf8)
        return true
    }

    private static func isOurs(_ name: HTTPField.Name) -> Bool {
        switch name.canonicalName {
        case "date", "content-length", "transfer-encoding", "connection", "keep-alive": true
        default: false
        }
    }
}

/// What a line we write may contain.
enum OutgoingText {
    /// No CR, LF or NUL: nothing that would end the line for any reader.
    static func isSafe(_ text: String) -> Bool {
        for byte in text.utf8 where byte == ASCII.carriageReturn || byte == ASCII.lineFeed || byte == 0 {
            return false
        }
        return true
    }
}

/// Decimal numbers without an intermediate String.
enum Decimal {
    static func append(_ number: Int, into output: inout [UInt8]) {
        guard number >= 10 else {
            output.append(ASCII.zero + UInt8(max(0, number)))
            return
        }
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            output.append(ASCII.zero + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}
