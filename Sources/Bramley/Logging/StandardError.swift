internal import Sockets

/// Where the log goes: standard error, one write a line.
package struct StandardError: LogSink {
    package init() {}

    package func write(_ line: [UInt8]) {
        Files.writeToStandardError(line)
    }
}
