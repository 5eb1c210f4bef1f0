package import Logging
internal import Synchronization

/// Keeps every line that would be logged: `level message name=value name=value`.
package final class LogRecorder: Sendable {
    private let storage = Mutex<[String]>([])
    private let hear: @Sendable (String) -> Void

    /// - Parameter hear: called with each line when it is logged.
    package init(hear: @escaping @Sendable (String) -> Void = { _ in }) { self.hear = hear }

    package var lines: [String] { storage.withLock { $0 } }

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(recorder: self) }
    }

    fileprivate func append(_ line: String) {
        storage.withLock { $0.append(line) }
        hear(line)
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            recorder.append("\(event.level) \(event.message) \(values.joined(separator: " "))")
        }
    }
}

extension Logger {
    /// Logs nothing.
    package static let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
