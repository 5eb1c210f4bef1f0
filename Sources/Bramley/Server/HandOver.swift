import FoundationEssentials
internal import Logging
internal import Sockets
internal import Synchronization

/// How this process was started, so that its successor can be started in the same way.
struct ProgramStart: Sendable {
    /// The program's path: the file that exists at the hand-over is started, not the one at the start.
    let path: String
    let arguments: [String]
    let environment: [String: String]

    init(environment: [String: String]) {
        arguments = CommandLine.arguments
        let name = arguments.first ?? ""
        // A name without a slash was looked up in PATH; the kernel remembers the result.
        let found = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        path = name.contains("/") ? name : found ?? name
        self.environment = environment
    }
}

/// The names of a server's descriptors for its successor, besides those of the listeners.
enum Inheritance {
    static let visitors = "visitors"
    static let admin = "admin"
    static let redirects = "redirects"
    /// The descriptor that holds the lock on the data directory.
    static let lock = "lock"
    static let predecessor = "predecessor"
}

extension PreparedServer {
    /// How long the successor may take to serve, in milliseconds.
    private static let patience: Int64 = 60_000
    /// How often it is checked, in milliseconds.
    private static let pause: Int64 = 10
    /// How long connections may take to send their last request, in milliseconds.
    private static let idleTime: Int64 = 10_000

    /// SIGUSR2: starts the program again with this process's sockets and lock, and ends when the new one serves. Begins
    /// on the first loop, and does nothing while one is in progress.
    func handOver(to program: ProgramStart) {
        guard let loop = parts.group.loops.first,
            isHandingOver.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged
        else { return }
        loop.spawn {
            guard let process = await self.start(program, on: loop) else {
                return self.isHandingOver.store(false, ordering: .relaxed)
            }
            await self.leave(to: process, on: loop)
        }
    }

    /// - Returns: the ID of the process that now serves; nil when none does.
    private func start(_ program: ProgramStart, on loop: EventLoop) async -> Int32? {
        func fail(_ cause: String) {
            logger.error(
                "new process not ready; this one keeps serving",
                metadata: ["cause": .string(cause), "program": .string(program.path)])
        }
        logger.info("handing over", metadata: ["program": .string(program.path)])
        do throws(SystemError) {
            let successor = try withInheritance { descriptors throws(SystemError) in
                var environment = program.environment
                // The variable was for this process.
                environment["WATCHDOG_PID"] = nil
                return try Successor(
                    path: program.path, arguments: program.arguments, environment: environment,
                    descriptors: descriptors, connectionName: Inheritance.predecessor)
            }
            if let cause = await wait(for: successor, on: loop) {
                fail(cause)
                return nil
            }
            notices.handOver(to: successor.process)
            successor.connection.signal()
            return successor.process
        } catch {
            fail("\(error)")
            return nil
        }
    }

    /// - Returns: why it does not; nil when it does.
    private func wait(for successor: Successor, on loop: EventLoop) async -> String? {
        let limit = loop.now.adding(milliseconds: Self.patience)
        while true {
            if successor.connection.listen() == true { return nil }
            if let ending = successor.ending() { return "it ended: \(ending)" }
            guard loop.now < limit else {
                await successor.abandon(on: loop)
                return "it was not ready within \(Self.patience / 1000) s"
            }
            guard await loop.sleep(until: loop.now.adding(milliseconds: Self.pause)) else {
                await successor.abandon(on: loop)
                return "this server was stopped meanwhile"
            }
        }
    }

    /// Leaves everything to the successor, answers once more on each connection, and ends.
    private func leave(to process: Int32, on loop: EventLoop) async {
        logger.info("handed over", metadata: ["process": .stringConvertible(process)])
        retire()
        let limit = loop.now.adding(milliseconds: min(Self.idleTime, drainTimeout))
        while parts.admission.total > 0, loop.now < limit {
            guard await loop.sleep(until: loop.now.adding(milliseconds: Self.pause)) else { return }
        }
        stop(abortAfter: drainTimeout)
    }
}
