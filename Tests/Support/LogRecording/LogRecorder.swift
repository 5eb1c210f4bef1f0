package import Logging
internal import Synchronization

/// Keeps every line that would be logged, metadata included.
package final class LogRecorder: Sendable {
    private let storage = Mutex<[String]>([])

    package init() {}

    package var lines: [String] { storage.withLock { $0 } }

    package var logger: Logger {
        Logger(label: "test") { _ in Handler(recorder: self) }
    }

    fileprivate func append(_ line: String) { storage.withLock { $0.append(line) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            recorder.append("\(event.level) \(event.message) \(event.metadata ?? [:])")
        }
    }
}
