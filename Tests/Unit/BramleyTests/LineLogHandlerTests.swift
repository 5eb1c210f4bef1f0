import Bramley
import Coding
import Foundation
import Logging
import Synchronization
import Testing

struct LineLogHandlerTests {
    final class Memory: LogSink {
        private let storage = Mutex<[[UInt8]]>([])
        var lines: [String] { storage.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } }
        func write(_ line: [UInt8]) { storage.withLock { $0.append(line) } }
    }

    let memory = Memory()

    private func logger(_ format: LogFormat, level: Logger.Level = .info) -> Logger {
        let memory = memory
        return Logger(label: "bramley") { label in
            LineLogHandler(label: label, level: level, format: format, sink: memory) {
                Timestamp(milliseconds: 1_767_323_045_678)
            }
        }
    }

    @Test func writesOneJSONObjectALine() throws {
        logger(.json).warning(
            "started",
            metadata: [
                "port": "8080", "hosts": ["a", "b"], "time": "own", "n": .stringConvertible(5),
                "is": .stringConvertible(true), "what": .stringConvertible(Logger.Level.info),
            ])
        #expect(
            memory.lines == [
                #"{"time":"2026-01-02T03:04:05.678Z","level":"warning","logger":"bramley","message":"started","# + "\""
                    + #"hosts":["a","b"],"is":true,"n":5,"port":"8080","time_":"own","what":"info"}"# + "\n"
            ])
        let line = try #require(memory.lines.first)
        #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
    }

    @Test func writesTextForPeople() {
        logger(.text).info("signed in", metadata: ["user": "usr_1", "agent": "Mozilla/5.0 (X11)", "empty": ""])
        #expect(
            memory.lines == [
                #"2026-01-02T03:04:05.678Z info signed in agent="Mozilla/5.0 (X11)" empty="" user=usr_1"# + "\n"
            ])
    }

    static let hostile = "x\r\n2026-01-02T03:04:05.678Z info forged user=usr_2\u{1B}[2J\u{9B}1A\"},{\"level\":\"info"

    @Test(arguments: LogFormat.allCases)
    func peersInputCannotForgeALine(format: LogFormat) throws {
        var logger = logger(format)
        logger[metadataKey: "kept"] = .string(Self.hostile)
        logger.error(
            "\(Self.hostile)",
            metadata: [
                Self.hostile: .string(Self.hostile), "array": [.string(Self.hostile)],
                "map": [Self.hostile: .string(Self.hostile)],
            ])
        let line = try #require(memory.lines.first)
        #expect(memory.lines.count == 1)
        #expect(line.unicodeScalars.filter { $0.properties.generalCategory == .control } == ["\n"])
        #expect(line.hasSuffix("\n"))
        if format == .json {
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["message"] as? String == Self.hostile)
            #expect(object["level"] as? String == "error")
        }
    }

    @Test func omitsLowerLevels() {
        logger(.text, level: .warning).info("quiet")
        #expect(memory.lines.isEmpty)
    }
}
