internal import CLinux
internal import Glibc
internal import Synchronization

/// One thread, one epoll instance, one `TaskExecutor`: everything of a connection happens here.
///
/// A task that prefers this loop runs its jobs on the loop's thread, between two calls of `epoll_wait`. Readiness
/// resumes continuations, which enqueue jobs, which run in the same turn. Jobs enqueued by the loop's own thread go
/// into a plain array; those of other threads through a mutex and an eventfd.
///
/// Proof for `@unchecked Sendable`: `remote` is a mutex; every other variable is used only on the loop's thread, which
/// `assertOnLoop` checks in debug builds.
@safe package final class EventLoop: TaskExecutor, @unchecked Sendable {
    private struct Remote {
        var jobs: [UnownedJob] = []
        var operations: [@Sendable () -> Void] = []
        var isWoken = false
        /// The thread has ended: later operations would never run.
        var hasEnded = false
    }

    private struct Slot {
        var generation: UInt32 = 0
        var channel: Channel?
    }

    /// What a new task is for.
    package enum Arrival: Sendable {
        case connection(SocketStream)
        case operation(@Sendable () async -> Void)
    }

    /// Counts from 0 within its group.
    package let index: Int
    private let epoll: Descriptor
    private let wakeup: Descriptor
    private let remote = Mutex(Remote())
    /// The thread that runs the loop; 0 while there is none. Other threads read it too, only to learn that they are
    /// not it: they never see their own value, so no ordering is needed.
    private let thread = Atomic<pthread_t>(0)
    private var jobs: [UnownedJob] = []
    private var running: [UnownedJob] = []
    private var slots: [Slot] = []
    private var free: [UInt32] = []
    private var timers = TimerHeap()
    private var arrivals: [Arrival] = []
    private var arrivalWaiter: UnsafeContinuation<Void, Never>?
    private var isStopping = false
    /// The monotonic clock as of this turn.
    package private(set) var now = Deadline.now
    /// Set once by `beginDrain`: no new connections, no new requests on idle ones.
    package private(set) var isDraining = false
    /// Set once by `retire`: no new connections, and one more request on each.
    private var isRetiring = false
    /// Whether a connection ends with its current request.
    package var isEnding: Bool { isDraining || isRetiring }
    package let buffers = BufferPool()

    private static let wakeToken = UInt64.max

    package init(index: Int) throws(SystemError) {
        self.index = index
        epoll = Descriptor(owning: try SystemCalls.retrying("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
        wakeup = Descriptor(
            owning: try SystemCalls.retrying("eventfd") {
                eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            })
        try control(EPOLL_CTL_ADD, wakeup.number, events: EPOLLIN.rawValue, data: Self.wakeToken)
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isOnLoop {
            jobs.append(job)
        } else {
            wake { $0.jobs.append(job) }
        }
    }

    package var isOnLoop: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    @inline(__always)
    package func assertOnLoop() { assert(isOnLoop, "a channel was touched off its loop") }

    /// Runs `operation` on the loop's thread, soon; from the loop's own thread, at once. Once the loop has stopped, it
    /// is dropped: most operations hold the loop, so keeping them would create a reference cycle.
    package func execute(_ operation: @escaping @Sendable () -> Void) {
        if isOnLoop {
            operation()
        } else {
            wake { if !$0.hasEnded { $0.operations.append(operation) } }
        }
    }

    private func wake(_ change: (inout Remote) -> Void) {
        let mustSignal = remote.withLock { remote in
            change(&remote)
            defer { remote.isWoken = true }
            return !remote.isWoken
        }
        if mustSignal { signalWakeup() }
    }

    private func signalWakeup() {
        var one: UInt64 = 1
        // Invariant: eventfd reads exactly eight bytes, which `one` provides.
        _ = unsafe write(wakeup.number, &one, 8)
    }

    // MARK: The loop

    /// The body of the loop's thread; returns after `stop`.
    func run() {
        thread.store(pthread_self(), ordering: .relaxed)
        var events = unsafe [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            drainRemote()
            runJobs()
            if isStopping && jobs.isEmpty { break }
            let timeout = jobs.isEmpty ? millisecondsToNearestTimer() : 0
            // Invariant: the kernel writes at most `events.count` entries.
            let count = unsafe epoll_wait(epoll.number, &events, Int32(events.count), timeout)
            now = Deadline.now
            if count > 0 {
                for index in 0..<Int(count) { unsafe deliver(events[index].events, to: events[index].data.u64) }
            }
            fireTimers()
        }
        releaseChannels()
    }

    /// Remaining channels (a pooled connection, the end of the grace period) and this loop hold each other: without
    /// this a stopped loop would keep its descriptors until the process ends.
    private func releaseChannels() {
        for slot in slots { slot.channel?.token = nil }
        slots.removeAll()
        free.removeAll()
        // Removed under the lock and released after it: destroying an operation may destroy what it holds.
        _ = remote.withLock { remote in
            remote.hasEnded = true
            defer { remote.operations.removeAll() }
            return remote.operations
        }
        // Another thread may get the same ID.
        thread.store(0, ordering: .relaxed)
    }

    /// Ends the thread after the current jobs. Only when no task of this loop is left.
    func stop() { execute { self.isStopping = true } }

    private func runJobs() {
        guard !jobs.isEmpty else { return }
        // Only the present jobs: those they enqueue wait until epoll was polled, so that nobody starves.
        swap(&jobs, &running)
        let executor = unsafe asUnownedTaskExecutor()
        for job in running { unsafe job.runSynchronously(on: executor) }
        running.removeAll(keepingCapacity: true)
    }

    private func drainRemote() {
        // Usually nothing. Taking the storage avoids a copy later.
        let taken = remote.withLock { remote -> (jobs: [UnownedJob], operations: [@Sendable () -> Void])? in
            guard remote.isWoken else { return nil }
            remote.isWoken = false
            let taken = (remote.jobs, remote.operations)
            remote.jobs = []
            remote.operations = []
            return taken
        }
        guard let taken else { return }
        jobs.append(contentsOf: taken.jobs)
        for operation in taken.operations { operation() }
    }

    private func deliver(_ events: UInt32, to data: UInt64) {
        if data == Self.wakeToken {
            var count: UInt64 = 0
            _ = unsafe read(wakeup.number, &count, 8)
            return
        }
        channel(ChannelToken(rawValue: data))?.ready(events)
    }

    private func channel(_ token: ChannelToken) -> Channel? {
        let slot = slots[Int(token.slot)]
        return slot.generation == token.generation ? slot.channel : nil
    }

    // MARK: Registration

    /// Gives `channel` a slot, and registers its descriptor, if it has one, with epoll.
    func register(_ channel: Channel, descriptor: Int32? = nil, events: UInt32 = 0) throws(SystemError) {
        assertOnLoop()
        let slot: UInt32
        if let reused = free.popLast() {
            slot = reused
        } else {
            slot = UInt32(slots.count)
            slots.append(Slot())
        }
        let token = ChannelToken(slot: slot, generation: slots[Int(slot)].generation)
        slots[Int(slot)].channel = channel
        channel.token = token
        if let descriptor {
            do {
                try control(EPOLL_CTL_ADD, descriptor, events: events, data: token.rawValue)
            } catch {
                unregister(channel)
                throw error
            }
        }
    }

    /// Frees the slot. The descriptor leaves epoll when its owner closes it.
    func unregister(_ channel: Channel) {
        assertOnLoop()
        guard let token = channel.token else { return }
        channel.token = nil
        slots[Int(token.slot)].channel = nil
        slots[Int(token.slot)].generation &+= 1
        free.append(token.slot)
    }

    /// Removes a descriptor from epoll; its channel keeps its slot.
    func unwatch(_ descriptor: Int32) { try? control(EPOLL_CTL_DEL, descriptor, events: 0, data: 0) }

    /// Adds it again.
    func watch(_ channel: Channel, descriptor: Int32, events: UInt32) throws(SystemError) {
        guard let token = channel.token else { return }
        try control(EPOLL_CTL_ADD, descriptor, events: events, data: token.rawValue)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, events: UInt32, data: UInt64) throws(SystemError) {
        let epoll = epoll.number
        _ = try SystemCalls.retrying("epoll_ctl") {
            var event = unsafe epoll_event(events: events, data: epoll_data_t(u64: data))
            return unsafe epoll_ctl(epoll, operation, descriptor, &event)
        }
    }

    // MARK: Timers

    func arm(_ channel: Channel) {
        guard let token = channel.token else { return }
        channel.armed = channel.deadline
        timers.insert(TimerHeap.Entry(deadline: channel.deadline, token: token))
    }

    private func fireTimers() {
        while let entry = timers.popDue(at: now) {
            guard let channel = channel(entry.token), channel.armed == entry.deadline else { continue }
            channel.armed = .never
            if channel.deadline <= now {
                channel.expired()
            } else if channel.deadline != .never {
                arm(channel)
            }
        }
    }

    private func millisecondsToNearestTimer() -> Int32 {
        guard let nearest = timers.nearest else { return -1 }
        let span = nearest.nanoseconds - now.nanoseconds
        // Rounded up, so that the timer is due when epoll returns.
        return span <= 0 ? 0 : Int32(min(span / 1_000_000 + 1, 60_000))
    }

    /// Waits on the loop until `deadline`; false when the loop began to drain first.
    package func sleep(until deadline: Deadline) async -> Bool {
        assertOnLoop()
        guard !isDraining else { return false }
        let timer = TimerChannel(loop: self, survivesDraining: false)
        guard (try? register(timer)) != nil else { return false }
        timer.setDeadline(deadline)
        return await timer.wait()
    }

    // MARK: Tasks

    /// Creates a task for `arrival` under the loop's root.
    package func arrive(_ arrival: Arrival) {
        assertOnLoop()
        arrivals.append(arrival)
        wakeRoot()
    }

    /// Runs `operation` as a task of this loop, under its root. From any thread.
    package func spawn(_ operation: @escaping @Sendable () async -> Void) {
        execute { self.arrive(.operation(operation)) }
    }

    /// The root task: every connection and operation is its child. Returns when the loop drains and all have ended.
    ///
    /// `group.addTask` is only ever called from here, because adding from the epoll callback hangs.
    package func runRoot(_ serve: @escaping @Sendable (SocketStream) async -> Void) async {
        await withDiscardingTaskGroup { group in
            while true {
                while !arrivals.isEmpty {
                    let batch = arrivals
                    arrivals.removeAll(keepingCapacity: true)
                    for arrival in batch {
                        switch arrival {
                        case .connection(let stream): group.addTask { await serve(stream) }
                        case .operation(let operation): group.addTask { await operation() }
                        }
                    }
                }
                if isDraining { break }
                // Invariant: `wakeRoot` removes the continuation before it resumes it.
                await unsafe withUnsafeContinuation { unsafe arrivalWaiter = $0 }
            }
        }
    }

    private func wakeRoot() {
        if let waiter = unsafe arrivalWaiter {
            unsafe arrivalWaiter = nil
            unsafe waiter.resume()
        }
    }

    /// Stops accepting; connections stay for one more answer. Another process has the sockets.
    func retire() {
        execute { [self] in
            guard !isRetiring else { return }
            isRetiring = true
            for slot in slots { slot.channel?.retire() }
        }
    }

    /// Stops accepting, ends idle connections and sleeps; work in flight continues until `deadline`.
    func beginDrain(abortAt deadline: Deadline) {
        execute { [self] in
            guard !isDraining else { return }
            isDraining = true
            for slot in slots { slot.channel?.drain() }
            wakeRoot()
            let grace = GracePeriod(loop: self)
            if (try? register(grace)) != nil { grace.setDeadline(deadline) } else { abortAll() }
        }
    }

    /// Closes up to `count` connections that wait for a request, nearest deadline first. Only those that are counted
    /// together: a crowd of visitors closes none of the operator's.
    /// - Returns: how many were closed.
    func shed(_ count: Int, of admission: AdmissionControl) -> Int {
        assertOnLoop()
        var candidates = slots.compactMap { slot in
            slot.channel.flatMap { $0.isExpendable(among: admission) ? $0 : nil }
        }
        if candidates.count > count { candidates.sort { $0.deadline < $1.deadline } }
        var closed = 0
        for channel in candidates where closed < count && channel.closeIfIdle() { closed += 1 }
        return closed
    }

    /// Closes all remaining connections: the end of the grace period.
    func abortAll() {
        execute { [self] in
            for slot in slots { slot.channel?.abort() }
            wakeRoot()
        }
    }
}
