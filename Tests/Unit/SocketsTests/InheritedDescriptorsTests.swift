import Foundation
import Glibc
import Loops
import Testing

@testable import Sockets

@Suite struct InheritedDescriptorsTests {
    /// No descriptor ever has this number.
    private static let neverOpen: Int32 = 1 << 30

    /// Descriptors in a row, as a service manager leaves them; closed by whoever takes them. At the upper end of what there
    /// may be, since the kernel gives the lowest numbers to everybody else in this process.
    private static func row(_ count: Int32) throws -> Int32 {
        var limit = rlimit()
        // Writes one `rlimit` and keeps no pointer.
        try #require(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        let number = unsafe open("/dev/null", O_RDONLY)
        try #require(number >= 0)
        defer { close(number) }
        let end = Int32(clamping: min(limit.rlim_cur, 1 << 20))
        for start in stride(from: end - 8, to: end - 200, by: -8) {
            // Taken in one step each, so that it is nobody else's.
            let taken = (0..<count).map { _ in fcntl(number, F_DUPFD, start) }
            if taken == Array(start..<start + count) { return start }
            for other in taken where other >= 0 { close(other) }
        }
        throw SystemError(call: "fcntl", code: EMFILE)
    }

    @Test func descriptorsAreConsumedByName_AndNotInherited() throws {
        let first = try Self.row(3)
        do {
            var inherited = try InheritedDescriptors(
                environment: ["LISTEN_PID": "7", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "visitors:admin:visitors"],
                process: 7, first: first)
            let all = inherited.names
            let mine = inherited.consume("visitors")
            let rest = inherited.names
            let again = inherited.consume("visitors")
            #expect(all == ["visitors", "admin", "visitors"])
            #expect(mine == [first, first + 2])
            #expect(rest == ["admin"] && again.isEmpty)
            for number in mine {
                #expect(fcntl(number, F_GETFD) == FD_CLOEXEC)
                close(number)
            }
        }
        #expect(fcntl(first + 1, F_GETFD) < 0, "what nobody takes is closed")
    }

    @Test(
        "Descriptors for another process are left alone; without any there are none",
        arguments: [
            [:], ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "visitors"],
            ["LISTEN_PID": "8", "LISTEN_FDS": "x"], ["LISTEN_PID": "07", "LISTEN_FDS": "1"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "0", "LISTEN_FDNAMES": ""],
        ])
    func othersAreLeftAlone(environment: [String: String]) throws {
        let names = try InheritedDescriptors(environment: environment, process: 7, first: 3).names
        #expect(names == [])
    }

    @Test(
        "Contradicting variables are refused",
        arguments: [
            ["LISTEN_PID": "7"], ["LISTEN_PID": "7", "LISTEN_FDS": "-1"], ["LISTEN_PID": "7", "LISTEN_FDS": "1025"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "two", "LISTEN_FDNAMES": "a:b"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "1"], ["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "a"],
            ["LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "a:b"],
            // Not open.
            ["LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "a"],
        ])
    func contradictionsAreRefused(environment: [String: String]) {
        #expect(throws: InheritedDescriptors.Refusal.self) {
            _ = try InheritedDescriptors(environment: environment, process: 7, first: Self.neverOpen)
        }
    }

    @Test(
        "Only an absolute path or an abstract name is an address of the service manager",
        arguments: [
            ("/run/notify", true), ("@abstract", true), ("", false), ("/", false), ("@", false), ("relative", false),
            ("vsock:2:1", false), ("/a\0b", false), ("/" + String(repeating: "a", count: 106), true),
            ("/" + String(repeating: "a", count: 107), false),
        ])
    func notifyAddresses(text: String, isOne: Bool) {
        #expect((NotifySocket(text) != nil) == isOne)
    }

    /// The number of listeners covers every socket and every loop.
    @Test(
        "Sockets are distributed among loops",
        arguments: [(1, 1, [1]), (1, 4, [1, 1, 1, 1]), (4, 4, [1, 1, 1, 1]), (5, 2, [3, 2]), (3, 2, [2, 1])])
    func sharing(sockets: Int, loops: Int, expected: [Int]) throws {
        let bound = try BoundSockets.local(count: sockets)
        var numbers: [Int32] = []
        while let descriptor = bound.consume() { numbers.append(descriptor.release()) }
        let inherited = try BoundSockets(inheriting: numbers.reversed(), count: loops)
        #expect(inherited.address == bound.address)
        #expect((0..<loops).map { inherited.share(of: $0, among: loops).count } == expected)
        #expect(inherited.isShared == (loops > sockets))
        // A successor of it has as many sockets as there are, however many copies it is given.
        let copies = inherited.withDescriptors { $0.map { fcntl($0, F_DUPFD_CLOEXEC, 3) } }
        let again = try BoundSockets(inheriting: copies, count: sockets)
        #expect(again.count == sockets && !again.isShared)
    }

    /// Regression: who inherits a lock and fails to serve unlocked the file for the server that continues.
    @Test func releasedInheritedLockStaysWithItsOwner() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lock-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let lock = try FileLock(path: path)
            let copy = fcntl(lock.descriptor, F_DUPFD_CLOEXEC, 3)
            if FileLock(inheriting: Descriptor(owning: copy), of: path) == nil {
                Issue.record("the lock is not inherited")
            }
            #expect(throws: SystemError.self) { _ = try FileLock(path: path) }
            _ = consume lock
        }
        _ = try FileLock(path: path)
    }

    @Test func lockLeftToASuccessorLastsUntilItEnds() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lock-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lock = try FileLock(path: path)
        let copy = fcntl(lock.descriptor, F_DUPFD_CLOEXEC, 3)
        if FileLock(inheriting: Descriptor(owning: dup(copy)), of: "/dev/null") != nil {
            Issue.record("the descriptor of another file is taken for the lock")
        }
        if let inherited = FileLock(inheriting: Descriptor(owning: copy), of: path) {
            lock.leaveToSuccessor()
            #expect(throws: SystemError.self) { _ = try FileLock(path: path) }
            _ = consume inherited
        } else {
            Issue.record("the lock is not inherited")
        }
        _ = try FileLock(path: path)
    }
}
