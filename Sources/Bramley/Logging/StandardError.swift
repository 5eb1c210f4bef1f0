import Glibc

/// Standard error as a place for log lines: one `write` a line, so that lines of several threads, and of several
/// processes that share the pipe, stay whole (POSIX keeps writes up to PIPE_BUF together).
package struct StandardError: LogSink {
    package init() {}

    package func write(_ line: [UInt8]) {
        var written = 0
        while written < line.count {
            // Safe: the buffer is valid for `count` bytes during the closure, and `written` never passes `count`.
            let count = unsafe line.withUnsafeBytes { buffer in
                unsafe Glibc.write(
                    STDERR_FILENO, buffer.baseAddress.map { unsafe $0 + written }, buffer.count - written)
            }
            if count > 0 {
                written += count
            } else if errno != EINTR {
                // Nobody reads the log any more, or its disk is full. There is no place left to say so.
                return
            }
        }
    }
}
