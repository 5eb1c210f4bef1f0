import Certificates
import Glibc
import Loops
import Testing

@testable import Sockets

/// Connections whose peer is gone give their descriptor and their place back at once.
@Suite struct DeadConnectionTests {
    /// What the kernel has not sent counts as unsent for ever, and the failing close_notify took the error away that told
    /// so: such a connection was kept until the time for taking an answer was over.
    @Test(arguments: [false, true]) func lingeringEndsAtAReset(isSecure: Bool) async throws {
        let server = try TLSContext.server(
            certificate: try TestCertificates.pem("good"), privateKey: try TestCertificates.privateKey("good"))
        let trust = try TLSContext.client(trusting: "\(try TestCertificates.folder())/ca.pem")
        let admission = AdmissionControl(maximum: 10, maximumPerAddress: 10)
        let elapsed = try await onLoop(
            serving: { stream in
                stream.setDeadline(Deadline.now.adding(milliseconds: 60_000))
                if isSecure, (try? await stream.startTLS(server, serverName: nil)) == nil { return stream.close() }
                // More than the peer's window, so that some of it stays here; and all of it in the kernel, or OpenSSL
                // would not try to send its close_notify.
                let content = [UInt8](repeating: 9, count: 1 << 20)
                var rest = content[...]
                while !rest.isEmpty, let count = try? stream.tryWriting(Array(rest)), count > 0 {
                    rest = rest.dropFirst(count)
                }
                #expect(rest.isEmpty)
                while !stream.peerHasClosed {
                    _ = await stream.loop.sleep(until: Deadline.now.adding(milliseconds: 1))
                }
                await stream.lingeringClose(
                    silence: 20, until: Deadline.now.adding(milliseconds: 100),
                    outputDeadline: Deadline.now.adding(milliseconds: 30_000))
            },
            { loop, _ in
                let stream = try await connect(try listen(on: loop, admission: admission), on: loop)
                if isSecure { try await stream.startTLS(trust, serverName: "apple.test") }
                var byte: [UInt8] = [0]
                _ = try await stream.read(into: &byte, at: 0)
                SystemCalls.resetOnClose(stream.descriptor)
                let start = Deadline.now
                stream.close()
                while admission.total > 0 { _ = await loop.sleep(until: Deadline.now.adding(milliseconds: 1)) }
                return (Deadline.now.nanoseconds - start.nanoseconds) / 1_000_000
            })
        #expect(elapsed < 20_000, "\(elapsed) ms")
    }
}
