import Accounts
import Coding
import HTTP

/// Content made piece by piece, each when the previous one has been taken, so that memory does not grow with length.
protocol PieceSource: Sendable {
    /// The next piece; nil at the end.
    mutating func next() async throws(Failure) -> [UInt8]?
}

enum Pieces {
    /// The size of a piece in bytes. After each, the server serves others.
    static let size = 32_768
}

extension WebResponses {
    /// Content from `route`. Short content is sent whole, with its length. A failure before that is answered as usual;
    /// later ones are only logged, and the content is cut off.
    func body(of source: some PieceSource, route: String) async throws(Failure) -> ServerResponse.Body {
        var source = source
        var start: [[UInt8]] = []
        while start.reduce(0, { $0 + $1.count }) < Pieces.size {
            guard let piece = try await source.next() else { return .bytes(Array(start.joined())) }
            start.append(piece)
        }
        let (first, rest) = (start, source)
        return .stream { writer in
            for piece in first { try await writer.write(piece) }
            var rest = rest
            while let piece = try await more(of: &rest, route) { try await writer.write(piece) }
        }
    }

    private func more(of source: inout some PieceSource, _ route: String) async throws(Failure) -> [UInt8]? {
        do throws(Failure) {
            return try await source.next()
        } catch {
            log(error, route: route)
            throw error
        }
    }

    /// A list of the API: `items`, and `next` for the next page.
    func list<Item: Sendable>(
        _ items: [Item], next: String? = nil, _ fields: [Field<Item>], route: String
    ) async throws(Failure) -> ServerResponse {
        try await list(items, next: next, route: route) { $1.write($0, fields) }
    }

    /// The same for items without fields.
    func list<Item: Sendable>(
        _ items: [Item], next: String?, route: String,
        write: @escaping @Sendable (Item, inout JSONWriter) -> Void
    ) async throws(Failure) -> ServerResponse {
        var response = json([])
        let document = ListDocument(items, begin: { $0.name("items") }, write: write, end: { $0.member("next", next) })
        response.body = try await body(of: document, route: route)
        return response
    }
}

/// A JSON object with one list, which may be long.
struct ListDocument<Item: Sendable>: PieceSource {
    private var writer = JSONWriter(reserving: 1024)
    private var rest: ArraySlice<Item>
    private let write: @Sendable (Item, inout JSONWriter) -> Void
    private let end: @Sendable (inout JSONWriter) -> Void
    private var isDone = false

    /// `begin` writes the members before the list, and its name; `end` those behind it.
    init(
        _ items: [Item], begin: (inout JSONWriter) -> Void, write: @escaping @Sendable (Item, inout JSONWriter) -> Void,
        end: @escaping @Sendable (inout JSONWriter) -> Void
    ) {
        rest = items[...]
        self.write = write
        self.end = end
        writer.beginObject()
        begin(&writer)
        writer.beginArray()
    }

    mutating func next() async throws(Failure) -> [UInt8]? {
        guard !isDone else { return nil }
        while let item = rest.popFirst() {
            write(item, &writer)
            if writer.bytes.count >= Pieces.size { return writer.takeBytes() }
        }
        writer.endArray()
        end(&writer)
        writer.endObject()
        isDone = true
        return writer.takeBytes()
    }
}

extension AccountExport: PieceSource {}
