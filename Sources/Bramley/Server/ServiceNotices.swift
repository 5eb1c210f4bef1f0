internal import Logging
internal import Sockets
internal import Synchronization

/// Notifications to the service manager, as in sd_notify(3); none where it does not listen.
final class ServiceNotices: Sendable {
    private struct State {
        /// Another process speaks for the service.
        var isSilent = false
        /// The last notification, sent or withheld.
        var last = ""
    }

    private let socket: NotifySocket?
    /// How often the service manager wants a watchdog signal, in microseconds; nil if it does not.
    let watchdogInterval: Int64?
    private let logger: Logger
    private let state: Mutex<State>
    /// The number of loops that have turned since the last watchdog signal.
    private let turned = Atomic(0)

    /// - Parameter isSilent: until `speak`, since the previous process still speaks for the service.
    init(environment: [String: String], isSilent: Bool = false, logger: Logger) {
        let name = environment["NOTIFY_SOCKET"]
        socket = name.flatMap { NotifySocket($0) }
        if let name, socket == nil {
            logger.warning("NOTIFY_SOCKET is not a usable socket address", metadata: ["value": .string(name)])
        }
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(NotifySocket.process)" } ?? true
        watchdogInterval = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 && isMeant ? $0 : nil }
        self.logger = logger
        state = Mutex(State(isSilent: isSilent))
    }

    func ready(_ status: String) { send("READY=1\nMAINPID=\(NotifySocket.process)\nSTATUS=\(status)") }

    func reloading() {
        send("RELOADING=1\nMONOTONIC_USEC=\(NotifySocket.monotonicMicroseconds)\nSTATUS=Reloading", isLasting: false)
    }

    func reloaded() { send(state.withLock { $0.last }, isLasting: false) }

    func stopping() { send("STOPPING=1\nSTATUS=Finishing requests in flight") }

    private func alive() { send("WATCHDOG=1", isLasting: false) }

    /// From now on another process is the service, and speaks for it.
    func handOver(to process: Int32) {
        send("MAINPID=\(process)\nSTATUS=Handed over")
        state.withLock { $0.isSilent = true }
    }

    /// From now on this process is the service: sends what it withheld.
    func speak() {
        state.withLock { $0.isSilent = false }
        reloaded()
        // The other process's last signal may be nearly too old, and ours were not sent.
        if watchdogInterval != nil { alive() }
    }

    private func send(_ lines: String, isLasting: Bool = true) {
        guard let socket, !lines.isEmpty else { return }
        let isSilent = state.withLock { state in
            if isLasting { state.last = lines }
            return state.isSilent
        }
        guard !isSilent else { return }
        do throws(SystemError) {
            try socket.send(lines)
        } catch {
            logger.debug("service manager not notified", metadata: ["cause": "\(error)"])
        }
    }

    /// Watchdog signals, twice per interval, for as long as every loop turns: others must not hide one that hangs.
    func watch(_ group: EventLoopGroup, on loop: EventLoop) {
        guard let interval = watchdogInterval else { return }
        let pause = max(interval / 2000, 1)
        turned.store(group.loops.count, ordering: .relaxed)
        loop.spawn {
            await loop.every(pause) {
                guard self.turned.load(ordering: .relaxed) == group.loops.count else { return }
                self.alive()
                self.turned.store(0, ordering: .relaxed)
                for loop in group.loops { loop.execute { self.turned.add(1, ordering: .relaxed) } }
            }
        }
    }
}
