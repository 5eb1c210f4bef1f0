import Coding

/// How a request of `bramley doctor` arrived, as this server saw it.
package struct InspectionReport: Hashable, Sendable {
    /// The clients of the sign-in pages in this hour and the previous one.
    package struct Traffic: Hashable, Sendable {
        package var requests: Int64
        /// Nil when there were several, or none.
        package var onlyAddress: String?

        package init(requests: Int64, onlyAddress: String?) {
            self.requests = requests
            self.onlyAddress = onlyAddress
        }
    }

    /// A field of the answer as it left this server.
    package struct Field: Hashable, Sendable {
        package var name: String
        package var value: String
    }

    package var method: String
    /// As it arrived, including the base path.
    package var path: String
    /// Bytes.
    package var content: Int64
    package var host: String?
    package var client: String
    package var isFromTrustedProxy: Bool
    /// Every `X-Forwarded-For` field, in order.
    package var forwardedFor: [String]
    /// Every `X-Forwarded-Host` field.
    package var forwardedHost: [String]
    /// The probe cookies that arrived exactly once and unchanged.
    package var cookies: [String]
    package var fields: [Field]
    package var traffic: Traffic
}

extension InspectionReport {
    package var json: [UInt8] {
        func list(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
        func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        let fields = fields.map { JSONValue.array([.string($0.name), .string($0.value)]) }
        return JSONWriter.encode(
            JSONObject([
                ("method", .string(method)), ("path", .string(path)), ("content", .integer(content)),
                ("host", optional(host)), ("client", .string(client)),
                ("isFromTrustedProxy", .bool(isFromTrustedProxy)),
                ("forwardedFor", list(forwardedFor)), ("forwardedHost", list(forwardedHost)),
                ("cookies", list(cookies)), ("fields", .array(fields)), ("requests", .integer(traffic.requests)),
                ("onlyAddress", optional(traffic.onlyAddress)),
            ]))
    }

    /// Parses the output of `json`; nil for anything else, such as another server's answer.
    package init?(parsing bytes: [UInt8]) {
        func list(_ value: JSONValue?) -> [String]? {
            guard let values = value?.arrayValue else { return nil }
            let texts = values.compactMap(\.stringValue)
            return texts.count == values.count ? texts : nil
        }
        guard let object = (try? JSONReader.parse(bytes))?.objectValue,
            let method = object["method"]?.stringValue, let path = object["path"]?.stringValue,
            let content = object["content"]?.int64Value, let client = object["client"]?.stringValue,
            let isFromTrustedProxy = object["isFromTrustedProxy"]?.boolValue,
            let forwardedFor = list(object["forwardedFor"]), let forwardedHost = list(object["forwardedHost"]),
            let cookies = list(object["cookies"]), let pairs = object["fields"]?.arrayValue,
            let requests = object["requests"]?.int64Value
        else { return nil }
        var fields: [Field] = []
        for pair in pairs {
            guard let parts = list(pair), parts.count == 2 else { return nil }
            fields.append(Field(name: parts[0], value: parts[1]))
        }
        self.init(
            method: method, path: path, content: content, host: object["host"]?.stringValue, client: client,
            isFromTrustedProxy: isFromTrustedProxy, forwardedFor: forwardedFor, forwardedHost: forwardedHost,
            cookies: cookies, fields: fields,
            traffic: Traffic(requests: requests, onlyAddress: object["onlyAddress"]?.stringValue))
    }
}
