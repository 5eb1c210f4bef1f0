internal import CLinux
internal import Glibc

/// A listening socket of one loop.
///
/// Proof for `@unchecked Sendable`: see `Channel`.
package final class Listener: Channel, @unchecked Sendable {
    /// accept(2), replaceable by tests.
    typealias Accept = (Int32) -> SystemCalls.Accepted

    private let descriptor: Int32
    private let sockets: BoundSockets
    private var isClosed = false
    private var isPaused = false
    private let admission: AdmissionControl
    private let service: Int
    private let accept: Accept
    private let firstByteTimeout: Int64?
    /// Kept open so that, when all descriptors are in use, one can be freed to accept and turn away a waiting client.
    private var reserve: Descriptor?

    /// The most connections accepted in one turn of the loop.
    private static let batch = 32
    private static let pause: Int64 = 100
    /// When to search again for connections to close, after too few were found.
    private var nextShedding = Deadline(nanoseconds: .min)

    init?(
        _ sockets: BoundSockets, on loop: EventLoop, admission: AdmissionControl, service: Int = 0,
        firstByteTimeout: Int64? = nil, accept: @escaping Accept
    ) throws(SystemError) {
        guard let descriptor = sockets.consume() else { return nil }
        self.descriptor = descriptor.number
        self.sockets = sockets
        self.service = service
        self.admission = admission
        self.accept = accept
        self.firstByteTimeout = firstByteTimeout
        reserve = Self.openReserve()
        super.init(loop: loop)
        do {
            try loop.register(self, descriptor: self.descriptor, events: events)
        } catch {
            // `descriptor` closes it; see `SocketStream`.
            isClosed = true
            throw error
        }
        _ = descriptor.release()
    }

    deinit { if !isClosed { sockets.close(descriptor) } }

    private var events: UInt32 {
        sockets.isShared ? EPOLLIN.rawValue | EPOLLEXCLUSIVE.rawValue : EPOLLIN.rawValue
    }

    /// Adds one of the bound sockets to a loop; nil when all are assigned. Call it on the loop's thread.
    /// - Parameters:
    ///   - service: passed on to every stream, so that the root can distinguish its listeners.
    ///   - firstByteTimeout: milliseconds. A connection gets its task with its first byte, and is closed when none has
    ///     arrived by then: `stream.deadline` is that time. Nil where the server may speak first: a task at once.
    package static func start(
        _ sockets: BoundSockets, on loop: EventLoop, admission: AdmissionControl, service: Int = 0,
        firstByteTimeout: Int64? = nil
    ) throws(SystemError) -> Listener? {
        try Listener(
            sockets, on: loop, admission: admission, service: service, firstByteTimeout: firstByteTimeout
        ) { SystemCalls.accept($0) }
    }

    override func ready(_ events: UInt32) {
        makeRoom()
        acceptBatch(Self.batch)
    }

    /// Nearly the maximum number of connections is open: those that only wait give way to new ones.
    private func makeRoom() {
        let wanted = admission.connectionsToShed
        guard wanted > 0, loop.now >= nextShedding else { return }
        shed(wanted)
    }

    @discardableResult private func shed(_ wanted: Int) -> Int {
        let count = loop.shed(wanted, of: admission)
        if count < wanted { nextShedding = loop.now.adding(milliseconds: Self.pause) }
        admission.record(shed: count)
        return count
    }

    private func acceptBatch(_ limit: Int) {
        var mayShed = loop.now >= nextShedding
        for _ in 0..<limit {
            // The remaining descriptors are reserved: act as if there were none.
            switch admission.isWithoutRoom ? .exhausted(EMFILE) : accept(descriptor) {
            case .connection(let descriptor, let peer): admit(descriptor, peer)
            case .none: return
            case .skipped: continue
            case .exhausted:
                // Waiting connections hold descriptors that others need.
                if mayShed, shed(Self.batch) > 0 {
                    mayShed = false
                    continue
                }
                turnOneAway()
                return pauseAccepting()
            }
        }
    }

    private func admit(_ descriptor: consuming Descriptor, _ peer: SocketAddress) {
        guard admission.admit(peer.ip) else { return }
        do {
            let stream = try SocketStream(descriptor, peer: peer, loop: loop, service: service, admission: admission)
            stream.disableNagle()
            if let firstByteTimeout, !loop.isDraining {
                stream.parkUntilFirstByte(deadline: loop.now.adding(milliseconds: firstByteTimeout))
            } else {
                loop.arrive(.connection(stream))
            }
        } catch {
            admission.release(peer.ip)
        }
    }

    /// Out of descriptors: closes the client at the head of the queue instead of leaving it waiting.
    private func turnOneAway() {
        guard reserve != nil else { return }
        reserve = nil
        if case .connection = SystemCalls.accept(descriptor) { admission.recordMissingDescriptor() }
        reserve = Self.openReserve()
    }

    private static func openReserve() -> Descriptor? {
        let number = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        return number >= 0 ? Descriptor(owning: number) : nil
    }

    /// The listener stays readable while nothing can be accepted: without a pause the loop would spin.
    private func pauseAccepting() {
        isPaused = true
        loop.unwatch(descriptor)
        setDeadline(loop.now.adding(milliseconds: Self.pause))
    }

    override func expired() {
        guard isPaused else { return }
        isPaused = false
        if reserve == nil { reserve = Self.openReserve() }
        try? loop.watch(self, descriptor: descriptor, events: events)
    }

    /// Serves clients that the kernel has already accepted; closing with a queue would reset them.
    override func drain() {
        acceptBatch(4096)
        close()
    }

    /// Clients in the queue go to the successor, which has the same socket.
    override func retire() { close() }
    override func abort() { close() }

    private func close() {
        guard !isClosed else { return }
        isClosed = true
        // Another process keeps the open socket alive: epoll would report it for as long as that lasts.
        if !isPaused { loop.unwatch(descriptor) }
        loop.unregister(self)
        sockets.close(descriptor)
    }
}
