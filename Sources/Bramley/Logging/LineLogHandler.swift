package import Coding
internal import HTTP
package import Logging

/// Writes whole lines, including the line end. One call is one line: an implementation must not mix two of them.
package protocol LogSink: Sendable {
    func write(_ line: [UInt8])
}

/// swift-log's handler for operators: one line per event, as JSON or as text, with everything from peers escaped.
package struct LineLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    package var logLevel: Logger.Level
    private let label: String
    private let format: LogFormat
    private let sink: any LogSink
    private let now: @Sendable () -> Timestamp

    package init(
        label: String, level: Logger.Level, format: LogFormat, sink: any LogSink,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.label = label
        logLevel = level
        self.format = format
        self.sink = sink
        self.now = now
        metadataProvider = Logger.MetadataProvider {
            RequestID.current.map { ["request_id": .string($0.text)] } ?? [:]
        }
    }

    package subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let given = event.metadata { all.merge(given) { _, new in new } }
        if let error = event.error, all["error"] == nil { all["error"] = .string("\(error)") }
        sink.write(Self.line(event.level, event.message.description, all, label: label, format: format, at: now()))
    }

    static func line(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, label: String, format: LogFormat,
        at time: Timestamp
    ) -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(256)
        switch format {
        case .json:
            line.append("{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.rawValue)\",\"logger\":")
            LogEscaping.append(label, to: &line, quoted: true)
            line.append(",\"message\":")
            LogEscaping.append(message, to: &line, quoted: true)
        case .text:
            line.append("\(time.rfc3339) \(level.rawValue) ")
            LogEscaping.append(message, to: &line, quoted: false)
        }
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) { line.add(name, value, format) }
        line.append(format == .json ? "}\n" : "\n")
        return line
    }

    /// The line's own names; metadata with the same name gets an underscore, so that no name is repeated.
    fileprivate static let ownNames: Set<String> = ["time", "level", "logger", "message"]
    /// Deeper metadata is cut.
    fileprivate static let maximumDepth = 8
}

extension [UInt8] {
    fileprivate mutating func add(_ name: String, _ value: Logger.MetadataValue, _ format: LogFormat) {
        switch format {
        case .json:
            append(",")
            LogEscaping.append(LineLogHandler.ownNames.contains(name) ? name + "_" : name, to: &self, quoted: true)
            append(":")
            appendJSON(value, depth: 0)
        case .text:
            append(" ")
            LogEscaping.append(name, to: &self, quoted: !LogEscaping.isPlainWord(name))
            append("=")
            switch value {
            case .string(let text): appendWord(text)
            case .stringConvertible(let text): appendWord(text.description)
            case .array, .dictionary: appendJSON(value, depth: 0)
            }
        }
    }

    fileprivate mutating func appendWord(_ text: String) {
        LogEscaping.append(text, to: &self, quoted: !LogEscaping.isPlainWord(text))
    }

    fileprivate mutating func appendJSON(_ value: Logger.MetadataValue, depth: Int) {
        guard depth < LineLogHandler.maximumDepth else { return append("null") }
        switch value {
        case .string(let text): LogEscaping.append(text, to: &self, quoted: true)
        case .stringConvertible(let value) where value is any BinaryInteger || value is Bool: append(value.description)
        case .stringConvertible(let text): LogEscaping.append(text.description, to: &self, quoted: true)
        case .array(let values):
            append("[")
            for (index, element) in values.enumerated() {
                if index > 0 { append(",") }
                appendJSON(element, depth: depth + 1)
            }
            append("]")
        case .dictionary(let values):
            append("{")
            for (index, member) in values.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { append(",") }
                LogEscaping.append(member.key, to: &self, quoted: true)
                append(":")
                appendJSON(member.value, depth: depth + 1)
            }
            append("}")
        }
    }

    fileprivate mutating func append(_ text: String) { append(contentsOf: text.utf8) }
}
