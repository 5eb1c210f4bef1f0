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

    /// - Parameter now: the wall clock, injected for tests.
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
        sink.write(
            Self.line(event.level, event.message.description, all, label: label, format: format, at: now()))
    }

    /// One line, including its end.
    static func line(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata, label: String, format: LogFormat,
        at time: Timestamp
    ) -> [UInt8] {
        var line = LogLine(level, message, label: label, format: format, at: time)
        for (name, value) in metadata.sorted(by: { $0.key < $1.key }) { line.add(name, value) }
        return line.finish()
    }
}

/// The bytes of a growing line.
private struct LogLine {
    /// The line's own names; metadata with the same name gets an underscore, so that no name is repeated.
    private static let ownNames: Set<String> = ["time", "level", "logger", "message"]
    /// Deeper metadata is cut.
    private static let maximumDepth = 8

    let format: LogFormat
    private var bytes: [UInt8] = []

    init(_ level: Logger.Level, _ message: String, label: String, format: LogFormat, at time: Timestamp) {
        self.format = format
        bytes.reserveCapacity(256)
        switch format {
        case .json:
            append("{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.rawValue)\",\"logger\":")
            LogEscaping.append(label, to: &bytes, quoted: true)
            append(",\"message\":")
            LogEscaping.append(message, to: &bytes, quoted: true)
        case .text:
            append("\(time.rfc3339) \(level.rawValue) ")
            LogEscaping.append(message, to: &bytes, quoted: false)
        }
    }

    mutating func add(_ name: String, _ value: Logger.MetadataValue) {
        switch format {
        case .json:
            append(",")
            LogEscaping.append(Self.ownNames.contains(name) ? name + "_" : name, to: &bytes, quoted: true)
            append(":")
            appendJSON(value, depth: 0)
        case .text:
            append(" ")
            LogEscaping.append(name, to: &bytes, quoted: !LogEscaping.isPlainWord(name))
            append("=")
            switch value {
            case .string(let text): appendWord(text)
            case .stringConvertible(let text): appendWord(text.description)
            case .array, .dictionary: appendJSON(value, depth: 0)
            }
        }
    }

    mutating func finish() -> [UInt8] {
        append(format == .json ? "}\n" : "\n")
        return bytes
    }

    private mutating func appendWord(_ text: String) {
        LogEscaping.append(text, to: &bytes, quoted: !LogEscaping.isPlainWord(text))
    }

    private mutating func appendJSON(_ value: Logger.MetadataValue, depth: Int) {
        guard depth < Self.maximumDepth else { return append("null") }
        switch value {
        case .string(let text):
            LogEscaping.append(text, to: &bytes, quoted: true)
        case .stringConvertible(let text):
            LogEscaping.append(text.description, to: &bytes, quoted: true)
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
                LogEscaping.append(member.key, to: &bytes, quoted: true)
                append(":")
                appendJSON(member.value, depth: depth + 1)
            }
            append("}")
        }
    }

    private mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}
