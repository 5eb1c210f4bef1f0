import Sockets

@testable import HTTP

extension FuzzTarget {
    /// The frames of one HTTP/2 connection, behind its preface and first SETTINGS (or all of it, where the input begins
    /// with `PRI`). Each request is answered as soon as it is whole, as a server would. However the bytes are cut, the
    /// same requests with the same content come of it, and the same end; what goes out are whole frames.
    static let http2 = FuzzTarget(name: "http2", maximumLength: 2048) { input throws(Finding) in
        let opening = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        let bytes = input.starts(with: opening.prefix(3)) ? input : opening + [0, 0, 0, 4, 0, 0, 0, 0, 0] + input
        let now = Deadline.now
        return try readInAnyPieces(bytes) { ends throws(Finding) in
            try HTTP2Transcript(bytes, ends: ends, now: now)
        }.accepted
    }
}

private struct HTTP2Transcript: Equatable {
    /// What came of each stream, as text, in order.
    private var told: [String] = []
    private var contents: [Int32: [UInt8]] = [:]
    private var output: [UInt8] = []
    /// The beginning of a head that was accepted.
    private(set) var accepted: [UInt8]?

    init(_ bytes: [UInt8], ends: [Int], now: Deadline) throws(Finding) {
        let wire = WireLimits {
            $0.requestLine = 256
            $0.headerBlock = 512
            $0.fieldCount = 16
            $0.body = 256
            $0.trailerBlock = 128
        }
        guard let session = HTTP2Session(limits: HTTP2Limits(wire), wire: wire) else { throw Finding("no session") }
        // What waits at an error may be dropped, so the first frames go out before anything comes.
        session.pull(into: &output, limit: .max)
        var index = 0
        for end in ends {
            while index < end {
                let taken = session.receive(bytes, index..<end, now: now)
                try hold((1...(end - index)).contains(taken), "\(taken) bytes taken of \(end - index)")
                index += taken
                try handle(session, bytes, wire)
                session.pull(into: &output, limit: .max)
            }
        }
        if let failure = session.failure { told.append("failed with \(failure.code)") }
        try checkOutput()
    }

    /// Content is told when its stream has ended: how it was cut is nobody's business.
    static func == (one: HTTP2Transcript, other: HTTP2Transcript) -> Bool {
        one.told == other.told && one.output == other.output
    }

    private mutating func handle(_ session: HTTP2Session, _ bytes: [UInt8], _ wire: WireLimits) throws(Finding) {
        let events = session.events
        session.events.removeAll()
        for event in events {
            switch event {
            case .request(let stream, let ends):
                takeHead(session, stream, wire)
                if ends { finish(session, stream) }
            case .trailers(let stream, let ends):
                do throws(RequestAssembler.Failure) {
                    try session.assembler.finish()
                    told.append("\(stream) trailers \(session.assembler.trailers.count)")
                } catch {
                    told.append("\(stream) trailers \(error)")
                }
                if ends { finish(session, stream) }
            case .content(let stream, let range):
                try hold(range.lowerBound >= 0 && range.upperBound <= bytes.count, "content at \(range)")
                contents[stream, default: []] += bytes[range]
                session.creditStream(stream, range.count)
                session.creditConnection(range.count)
            case .ended(let stream): finish(session, stream)
            case .closed(let stream): told.append("\(stream) closed")
            case .answeredEarly, .drained, .pingAcknowledged: continue
            }
        }
    }

    private mutating func takeHead(_ session: HTTP2Session, _ stream: Int32, _ wire: WireLimits) {
        do throws(RequestAssembler.Failure) {
            let head = try session.assembler.consumeHead()
            session.assembler.returnStorage(head)
            var parser = RequestParser(limits: wire)
            do throws(WireError) {
                let length = try parser.parse(head.span)
                told.append("\(stream) \(shown(head)) \(length == head.count)")
                if accepted == nil { accepted = head }
            } catch {
                told.append("\(stream) \(error)")
            }
        } catch {
            told.append("\(stream) \(error)")
            session.resetFaulty(stream, .protocolError)
        }
    }

    private mutating func finish(_ session: HTTP2Session, _ stream: Int32) {
        told.append("\(stream) ended with \(shown(contents.removeValue(forKey: stream) ?? []))")
        var list = HeaderList()
        list.append(":status", "200")
        list.append("x", "y")
        let content = stream % 4 == 1 ? OutgoingContent(Array("content".utf8), isFinished: true) : nil
        session.respond(to: stream, list, content: content)
    }

    /// RFC 9113 §4.1: nothing but whole frames, and no more of them than what came explains.
    private func checkOutput() throws(Finding) {
        var position = 0
        while position + 9 <= output.count {
            let length = output[position..<(position + 3)].reduce(0) { $0 << 8 | Int($1) }
            try hold(output[position + 3] <= 9, "a frame of type \(output[position + 3])")
            position += 9 + length
        }
        try hold(position == output.count, "half a frame")
    }
}
