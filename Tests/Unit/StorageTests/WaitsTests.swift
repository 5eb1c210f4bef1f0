import Dispatch
import Synchronization
import TemporaryFolders
import Testing

@testable import Accounts
@testable import Storage

/// Who reads from a database that hangs.
struct WaitsTests {
    private let waits = Waits()
    private let folder: TemporaryFolder
    private let queue: ConnectionQueue

    init() throws {
        folder = try TemporaryFolder()
        queue = ConnectionQueue(
            try SQLiteConnection(path: folder.path + "/any.db", isReadOnly: false, busyTimeout: 1), label: "test",
            waits: waits)
    }

    /// A read that waits for 50 ms.
    private func read(_ body: @escaping @Sendable () -> Int) -> Task<Result<Int, StoreError>, Never> {
        let queue = queue
        return Task {
            do throws(StoreError) {
                return .success(
                    try await StorePatience.within(.milliseconds(50)) { () async throws(StoreError) in
                        try await queue.perform { _ in body() }
                    })
            } catch {
                return .failure(error)
            }
        }
    }

    @Test("a caller that waited too long gets an error, and its work is not begun")
    func endsTheWaiting() async throws {
        let gate = DispatchSemaphore(value: 0)
        let begun = Atomic(0)
        let (taken, takes) = AsyncStream<Void>.makeStream()
        let queue = queue
        let holder = Task {
            try await queue.perform { _ in
                takes.yield()
                gate.wait()
            }
        }
        for await _ in taken { break }
        let reads = (0..<2).map { _ in
            read {
                begun.add(1, ordering: .relaxed); return 2
            }
        }
        let sweeps = Task {
            while !Task.isCancelled {
                waits.sweep(silentSince: nil)
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        for read in reads { #expect(await read.value == .failure(.late)) }
        sweeps.cancel()
        gate.signal()
        _ = await holder.result
        #expect(try await queue.perform { _ in 3 } == 3)
        #expect(begun.load(ordering: .relaxed) == 0)
        queue.close()
    }

    @Test("the longer the silence, the shorter the wait, down to a second")
    func shortensTheWait() {
        func patience(silentFor silence: Duration?) -> Duration {
            waits.sweep(silentSince: silence.map { .now - $0 })
            return waits.deadline() - .now
        }
        #expect(patience(silentFor: nil) > .seconds(9))
        #expect((.seconds(5)...(.seconds(6))).contains(patience(silentFor: .seconds(4))))
        #expect((.milliseconds(500)...(.seconds(1))).contains(patience(silentFor: .seconds(60))))
        queue.close()
    }

    @Test("a hanging probe is shared by all callers, and blocks none")
    func probesOnce() async throws {
        let probe = WriteProbe()
        let (gate, opener) = AsyncStream.makeStream(of: Void.self)
        let probes = Atomic(0)
        for _ in 0..<3 {
            await #expect(throws: StoreError.late) {
                try await probe.run(within: .milliseconds(20)) {
                    probes.add(1, ordering: .relaxed)
                    for await _ in gate { break }
                }
            }
        }
        #expect(probes.load(ordering: .relaxed) == 1)
        opener.yield()
        try await probe.run(within: nil) {}
        queue.close()
    }
}
