internal import CLinux

/// SIGTERM and SIGINT between the first socket that is bound and the moment in which something handles them: their default
/// effect would end the process, with connections in its queues.
package enum StopSignals {
    /// From now on they are remembered.
    package static func remember() { bramley_remember_stop_signals() }

    /// Whether one came before something else handled them.
    package static var wereSeen: Bool { bramley_stop_was_asked() != 0 }
}
