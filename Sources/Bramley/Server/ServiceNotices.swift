internal import Logging
internal import Sockets
internal import Synchronization

/// What the service manager is told, as sd_notify(3) has it; nothing where none listens.
final class ServiceNotices: Sendable {
    private struct State {
        /// Another process speaks for the service.
        var isSilent = false
        /// What the service manager was last told, or would have been.
        var last = ""
    }

    private let socket: NotifySocket?
    /// How often the service manager wants a sign of life, in microseconds; nil when it wants none.
    let watchdogInterval: Int64?
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` of it count.
    ///   - isSilent: until `speak`, since the process before this one still speaks.
    init(environment: [String: String], isSilent: Bool = false, logger: Logger) {
        let name = environment["NOTIFY_SOCKET"]
        socket = name.flatMap { NotifySocket($0) }
        if let name, socket == nil {
            logger.warning(
                "NOTIFY_SOCKET is not a usable socket address", metadata: ["value": .string(name)])
        }
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(NotifySocket.process)" } ?? true
        watchdogInterval = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 && isMeant ? $0 : nil }
        self.logger = logger
        state = Mutex(State(isSilent: isSilent))
    }

    /// Every listener accepts, and the configuration is in use.
    func ready(_ status: String) {
        send("READY=1\nMAINPID=\(NotifySocket.process)\nSTATUS=\(status)")
    }

    func reloading() {
        send(
            "RELOADING=1\nMONOTONIC_USEC=\(NotifySocket.monotonicMicroseconds)\nSTATUS=Reading the keys again",
            isLasting: false)
    }

    /// Says again how the service is.
    func reloaded() {
        send(state.withLock { $0.last }, isLasting: false)
    }

    func stopping() {
        send("STOPPING=1\nSTATUS=Finishing what is in flight")
    }

    /// A sign of life.
    func alive() {
        send("WATCHDOG=1", isLasting: false)
    }

    /// From now on another process is the service, and speaks for it.
    func handOver(to process: Int32) {
        send("MAINPID=\(process)\nSTATUS=Handed over")
        state.withLock { $0.isSilent = true }
    }

    /// From now on this process is the service: says what it had to say meanwhile.
    func speak() {
        state.withLock { $0.isSilent = false }
        reloaded()
        // The other's last sign may be nearly as old as the service manager allows, and ours were not heard.
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
}

/// Signs of life for the service manager, twice in the time it waits for one, for as long as every loop turns: a loop that
/// hangs is not helped by another that says all is well.
final class Watchdog: Sendable {
    private let group: EventLoopGroup
    private let notices: ServiceNotices
    /// How many loops have turned since the last sign.
    private let turned: Atomic<Int>

    init(_ group: EventLoopGroup, _ notices: ServiceNotices) {
        self.group = group
        self.notices = notices
        turned = Atomic(group.loops.count)
    }

    /// Ends when the loop drains.
    func start(on loop: EventLoop) {
        guard let interval = notices.watchdogInterval else { return }
        let pause = max(interval / 2000, 1)
        loop.spawn {
            repeat { self.check() } while await loop.sleep(until: loop.now.adding(milliseconds: pause))
        }
    }

    private func check() {
        guard turned.load(ordering: .relaxed) == group.loops.count else { return }
        notices.alive()
        turned.store(0, ordering: .relaxed)
        for loop in group.loops { loop.execute { self.turned.add(1, ordering: .relaxed) } }
    }
}
