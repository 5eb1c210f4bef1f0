internal import Coding
package import HTTP
internal import HTTPTypes

/// Answers every request with 200 and what it understood, as JSON.
package struct EchoHandler: RequestHandler {
    package init() {}

    package func respond(to request: ServerRequest) async -> ServerResponse {
        ServerResponse(
            status: .ok, fields: [.contentType: "application/json"], body: .bytes(Self.describe(request)))
    }

    private static func describe(_ request: ServerRequest) -> [UInt8] {
        var writer = JSONWriter(reserving: 512 + 2 * request.body.count)
        writer.beginObject()
        writer.member("version", request.version.text)
        writer.member("method", request.method.rawValue)
        writer.member("scheme", request.head.scheme)
        writer.member("authority", request.head.authority)
        writer.member("target", request.head.path)
        writer.member("path", request.path)
        writer.member("query", request.query)
        writer.name("fields")
        write(request.fields, to: &writer)
        writer.name("trailers")
        write(request.trailers, to: &writer)
        writer.member("bodyLength", Int64(request.body.count))
        // Text if it is text, for people; the other member is always present and exact.
        writer.member("body", String(validating: request.body, as: UTF8.self))
        writer.member("bodyBase64", Base64.encode(request.body))
        writer.member("client", "\(request.client)")
        writer.endObject()
        return writer.bytes
    }

    /// An array of pairs: fields have an order, and names may be repeated.
    private static func write(_ fields: HTTPFields, to writer: inout JSONWriter) {
        writer.beginArray()
        for field in fields {
            writer.beginArray()
            writer.write(field.name.canonicalName)
            writer.write(field.value)
            writer.endArray()
        }
        writer.endArray()
    }
}
