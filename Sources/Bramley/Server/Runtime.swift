internal import Crypto
package import Logging
internal import Sockets
package import Storage

extension Runtime {
    /// The machine's own clock and randomness.
    package init(logger: Logger) { self.init(clock: SystemClock(), random: SystemRandom(), logger: logger) }

    /// For a command, which says what happens by itself.
    static var command: Runtime { Runtime(logger: Logger(label: "bramley") { _ in SwiftLogNoOpLogHandler() }) }
}
