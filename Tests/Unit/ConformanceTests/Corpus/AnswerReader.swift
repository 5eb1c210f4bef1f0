import Coding

/// One response as it came.
struct Answer: Hashable, Sendable {
    var status: Int
    /// Names in lower case.
    var fields: [String: String]
    var content: [UInt8]

    var isInterim: Bool { status < 200 }
}

/// Takes the bytes of a connection apart into responses, by a reader of the tests' own.
enum AnswerReader {
    enum Fault: Error, Hashable {
        case noHead, badLine(String), noLength, tooShort, noJSON(String)
    }

    /// - Parameter heads: which of the final responses answer a HEAD, by their place.
    static func read(_ bytes: [UInt8], heads: Set<Int> = []) throws -> [Answer] {
        var answers: [Answer] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let isHead = heads.contains(answers.count(where: { !$0.isInterim }))
            answers.append(try readOne(&rest, isHead: isHead))
        }
        return answers
    }

    private static func readOne(_ rest: inout ArraySlice<UInt8>, isHead: Bool) throws -> Answer {
        let end = Array("\r\n\r\n".utf8)
        guard let head = rest.indices.first(where: { rest[$0...].starts(with: end) }) else { throw Fault.noHead }
        let lines = String(decoding: rest[..<head], as: UTF8.self).components(separatedBy: "\r\n")
        rest = rest[(head + 4)...]
        guard let first = lines.first, first.hasPrefix("HTTP/1.1 "), let status = Int(first.dropFirst(9).prefix(3))
        else {
            throw Fault.badLine(lines.first ?? "")
        }
        var answer = Answer(status: status, fields: [:], content: [])
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw Fault.badLine(line) }
            let name = line[..<colon].lowercased()
            guard answer.fields[name] == nil else { throw Fault.badLine(line) }
            answer.fields[name] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        if answer.isInterim { return answer }
        guard let length = answer.fields["content-length"].flatMap({ Int($0) }) else { throw Fault.noLength }
        guard !isHead else { return answer }
        guard rest.count >= length else { throw Fault.tooShort }
        answer.content = Array(rest.prefix(length))
        rest = rest.dropFirst(length)
        return answer
    }

    /// What the server made of a request, from http-echo's JSON.
    static func understood(_ content: [UInt8]) throws -> Understood {
        guard case .object(let object) = try JSONReader.parse(content), let method = object["method"]?.stringValue,
            let target = object["target"]?.stringValue, let version = object["version"]?.stringValue,
            let encoded = object["bodyBase64"]?.stringValue, let body = Base64.decode(Array(encoded.utf8)),
            object["bodyLength"]?.int64Value == Int64(body.count), let fields = lines(object["fields"]),
            let trailers = lines(object["trailers"])
        else { throw Fault.noJSON(String(decoding: content, as: UTF8.self)) }
        var text = ""
        for byte in body { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return Understood(
            method, target, host: object["authority"]?.stringValue, version: version, fields: fields, body: text,
            trailers: trailers)
    }

    private static func lines(_ value: JSONValue?) -> [String]? {
        value?.arrayValue?.compactMap { pair in
            guard let pair = pair.arrayValue, pair.count == 2, let name = pair[0].stringValue,
                let value = pair[1].stringValue
            else { return nil }
            return "\(name): \(value)"
        }
    }
}

extension String {
    /// Without Foundation.
    fileprivate func components(separatedBy separator: String) -> [String] {
        split(separator: separator, omittingEmptySubsequences: false).map(String.init)
    }
}
