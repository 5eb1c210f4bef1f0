internal import HTTPTypes

/// The fields of a response as HTTP/2 sends them, with names in lower case, in one piece of storage.
struct HeaderList {
    struct Entry {
        var name: Range<Int>
        var value: Range<Int>
        /// Never kept in a compression table (RFC 7541 §7.1.3).
        var isSecret: Bool
    }

    private(set) var bytes: [UInt8] = []
    private(set) var entries: [Entry] = []
    /// Fields left out because they contain bytes that end a line.
    private(set) var refused = 0

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 4096)
        entries.removeAll(keepingCapacity: entries.capacity <= 64)
        refused = 0
    }

    mutating func releaseStorage() {
        bytes = []
        entries = []
    }

    mutating func append(_ name: String, _ value: String) {
        guard OutgoingText.isSafe(value) else {
            refused += 1
            return
        }
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        bytes.append(contentsOf: value.utf8)
        entries.append(Entry(name: start..<middle, value: middle..<bytes.count, isSecret: name == "set-cookie"))
    }

    mutating func append(_ name: String, _ value: [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: name.utf8)
        let middle = bytes.count
        bytes.append(contentsOf: value)
        entries.append(Entry(name: start..<middle, value: middle..<bytes.count, isSecret: false))
    }

    /// A handler's fields, without those that the server sets itself, as in `ResponseSerializer`.
    mutating func append(_ fields: HTTPFields) {
        for field in fields {
            switch field.name.canonicalName {
            case "date", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade",
                "proxy-connection":
                continue
            case let name: append(name, field.value)
            }
        }
    }

    /// Consumes the head that an `ImmediateResponder` wrote for HTTP/1.1: status line, fields, empty line.
    /// - Returns: false when it is not such a head.
    mutating func consumeHead(_ head: inout [UInt8]) -> Bool {
        removeAll()
        // `HTTP/1.1 204 `
        guard head.count > 13 else { return false }
        swap(&bytes, &head)
        let end = bytes.count
        let status = end..<end + 7
        bytes.append(contentsOf: ":status".utf8)
        entries.append(Entry(name: status, value: 9..<12, isSecret: false))
        var index = 13
        while index < end, bytes[index] != ASCII.lineFeed { index += 1 }
        index += 1
        while index < end, bytes[index] != ASCII.carriageReturn {
            let start = index
            while index < end, bytes[index] != ASCII.colon {
                let byte = bytes[index]
                if byte >= 0x41, byte <= 0x5a { bytes[index] = byte | 0x20 }
                index += 1
            }
            let value = index + 2
            while index < end, bytes[index] != ASCII.carriageReturn { index += 1 }
            guard value <= index, index + 1 < end else { return false }
            entries.append(Entry(name: start..<value - 2, value: value..<index, isSecret: false))
            index += 2
        }
        return index < end
    }
}

/// What the HTTP/2 connections of one loop share, because each uses it only while it reads. Nothing outlives a turn of
/// the loop except spare storage, which `removeAll` frees.
///
/// Not Sendable: a member of its `HTTPLoop`.
final class HTTP2Workspace {
    private static let kept = 64

    var parser: RequestParser
    var list = HeaderList()
    /// What an `ImmediateResponder` wrote.
    var scratch: [UInt8] = []
    private(set) var storages: [RequestAssembler.Storage] = []

    init(limits: WireLimits) { parser = RequestParser(limits: limits) }

    func acquire() -> RequestAssembler.Storage { storages.popLast() ?? RequestAssembler.Storage() }

    /// Not during a connection's turn.
    func removeAll() {
        storages = []
        scratch = []
        list.releaseStorage()
    }

    func release(_ storage: consuming RequestAssembler.Storage) {
        if storages.count < Self.kept { storages.append(storage) }
    }
}
