import Coding
import HTTP
import HTTPTypes
import Testing
import Web

@testable import Accounts

/// Answers that are made in pieces: short ones come as a whole, long ones never as one.
@Suite struct PiecesTests {
    /// Takes what is written, and how much of it at once.
    private final class Sink {
        private(set) var sizes: [Int] = []
        private(set) var bytes: [UInt8] = []

        func write(_ bytes: [UInt8]) {
            sizes.append(bytes.count)
            self.bytes += bytes
        }
    }

    private func taken(_ response: ServerResponse) async throws -> (sizes: [Int], content: JSONObject?) {
        let sink = Sink()
        switch response.body {
        case .none: break
        case .bytes(let bytes): sink.write(bytes)
        case .stream(let produce): try await produce(BodyWriter { sink.write($0) })
        }
        return (sink.sizes, try JSONReader.parse(sink.bytes).objectValue)
    }

    @Test("a list of the API is complete, however many parts it has", arguments: [(3, 1), (200, 3)])
    func list(count: Int, pieces: Int) async throws {
        let site = try Site()
        for number in 1...count {
            site.addUser(number, groups: (0..<5).map { "\($0)" + String(repeating: "g", count: 60) })
        }
        let response = await site.get(
            "/api/v1/users?limit=200", site.bearer(site.makeKey([.usersRead])))
        let (sizes, content) = try await taken(response)
        #expect(response.status == .ok && sizes.count >= pieces && sizes.allSatisfy { $0 <= 65_536 })
        #expect(content?["items"]?.arrayValue?.count == count && content?["next"]?.isNull == true)
        if pieces == 1 { #expect(!response.bytes.isEmpty) } else { #expect(response.bytes.isEmpty) }
    }

}
