import HTTP
import Randomness
import Testing

@Suite struct MutationTests {
    private let seeds = [
        "GET /a?b HTTP/1.1\r\nHost: h\r\nA: b\r\n\r\nPOST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
        "POST http://h/x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n"
            + "T: u\r\n\r\nGET / HTTP/1.0\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nhost: [::1]:80\r\n"
            + "Connection: a, keep-alive\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nz",
    ].map { Array($0.utf8) }
    private let interesting = Array("\r\n\r\n \t:;,0159aFx+-/?#%*\0\u{7f}".utf8) + [0x80, 0xff]

    /// Damaged requests never trap, and mean the same in one piece and byte by byte.
    @Test(arguments: 0..<8)
    func damagedInput_isReadAlikeInAnyPieces(_ round: Int) {
        var numbers = SeededRandom(seed: UInt64(round))
        let limits = WireLimits {
            $0.requestLine = 60
            $0.headerBlock = 120
            $0.fieldCount = 5
            $0.body = 16
            $0.chunkLine = 16
            $0.trailerBlock = 24
        }
        for _ in 0..<1500 {
            var bytes = seeds.randomElement(using: &numbers) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                let position = Int.random(in: 0..<bytes.count, using: &numbers)
                let byte = interesting.randomElement(using: &numbers) ?? 0
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: bytes[position] = byte
                case 1: bytes.insert(byte, at: position)
                case 2 where bytes.count > 1: bytes.remove(at: position)
                default:
                    let end = min(bytes.count, position + Int.random(in: 1...9, using: &numbers))
                    bytes.insert(contentsOf: bytes[position..<end], at: position)
                }
            }
            let whole = listen(to: bytes, limits: limits)
            #expect(listen(to: bytes, pieces: 1, limits: limits) == whole)
            #expect(listen(to: bytes, pieces: 5, limits: limits) == whole)
        }
    }
}
