import Glibc
import Loops
import Testing

@testable import Sockets

/// What becomes of a descriptor that epoll will not take.
@Suite struct RegistrationTests {
    /// A second close(2) of one number fails with EBADF, or, when another thread has been given the number meanwhile,
    /// closes a file of theirs: a database, another connection.
    @Test func descriptorThatCannotBeRegisteredIsClosedExactlyOnce() async throws {
        let outcome = try await onLoop { loop, _ -> [Int32] in
            // epoll does not accept regular files: EPERM.
            let descriptor = Descriptor(owning: unsafe open("/proc/self/exe", O_RDONLY | O_CLOEXEC))
            errno = 0
            let code = Self.register(descriptor, on: loop)
            return [code, errno]
        }
        #expect(outcome[0] == EPERM)
        #expect(outcome[1] != EBADF)
    }

    private static func register(_ descriptor: consuming Descriptor, on loop: EventLoop) -> Int32 {
        do throws(SystemError) {
            let peer = SocketAddress(ip: .v4(0x7F00_0001), port: 1)
            let stream = try SocketStream(descriptor, peer: peer, loop: loop)
            stream.close()
            return 0
        } catch {
            return error.code
        }
    }
}
