import Bramley
import Crypto
import Glibc
import RelyingParty
import Synchronization
import Testing

/// After the call the password stands nowhere in this process's memory, whatever came of the call.
@Suite(.serialized) struct VerifierSecrecyTests {
    /// Each byte of what is looked for, changed: so that looking for it does not put it into memory.
    struct Masked: Sendable {
        static let mask: UInt8 = 0xA5
        let bytes: [UInt8]

        /// 24 random letters.
        init() {
            bytes = SystemRandom().bytes(24).map { (0x61 + $0 % 26) ^ Self.mask }
        }

        /// The caller's to overwrite.
        func plain() -> [UInt8] { bytes.map { $0 ^ Self.mask } }

        /// Where it begins in the first `count` bytes.
        func position(in text: [UInt8], count: Int) -> Int? {
            guard count >= bytes.count else { return nil }
            return (0...(count - bytes.count)).first { start in
                bytes.indices.allSatisfy { text[start + $0] ^ Self.mask == bytes[$0] }
            }
        }
    }

    @Test func theSearchFindsWhatIsThere() throws {
        let masked = Masked()
        var open = masked.plain()
        #expect(try OwnMemory.count(of: masked) >= 1)
        let password = Password(consuming: &open)
        #expect(try OwnMemory.count(of: masked) == 1)
        withExtendedLifetime(password) {}
    }

    @Test(
        arguments: [
            .answer(VerifierStage.json(#"{"result":"success","externalID":"42"}"#)),
            .answer(VerifierStage.json(#"{"result":"failure"}"#)), .answer(VerifierStage.json("{")), .close(""),
            .silence,
        ] as [VerifierStage.Script])
    func nothingIsLeft(script: VerifierStage.Script) async throws {
        let masked = Masked()
        let hasArrived = Mutex(false)
        _ = try await VerifierStage.run(
            timeout: 300, script: { _ in script },
            listen: { buffer, count in
                // The other side's memory is no concern of this test.
                guard let start = masked.position(in: buffer, count: count) else { return }
                for index in start..<(start + masked.bytes.count) { buffer[index] = 0x2A }
                hasArrived.withLock { $0 = true }
            },
            { verifier in
                var bytes = masked.plain()
                _ = try? await verifier.verify(username: "ada", password: Password(consuming: &bytes))
            })
        #expect(hasArrived.withLock { $0 })
        #expect(try OwnMemory.count(of: masked) == 0)
    }
}

/// What stands in the writable memory of this process.
private enum OwnMemory {
    struct Unreadable: Error {}

    private static let chunkSize = 1 << 20
    /// No range of the program's own is so large. A sanitizer's shadow is (forty TiB for the one of threads): it says
    /// what was done to memory, not what is in it, and to read it through would take days.
    private static let shadowSize: UInt = 1 << 40

    /// How often it stands there in plain.
    static func count(of masked: VerifierSecrecyTests.Masked) throws -> Int {
        let length = masked.bytes.count
        let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkSize, alignment: 16)
        let needle = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
        // Safe here and below: all access is to these two buffers, within their sizes. They are zeroed before they go.
        defer {
            unsafe end(chunk)
            unsafe end(needle)
        }
        for index in 0..<length { unsafe needle[index] = masked.bytes[index] ^ VerifierSecrecyTests.Masked.mask }
        let own = [unsafe place(of: chunk), unsafe place(of: needle)]
        let memory = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw Unreadable() }
        defer { close(memory) }
        var found = 0
        for range in try writable() {
            var start = range.lowerBound
            while start < range.upperBound {
                let wanted = Int(min(UInt(chunkSize), range.upperBound - start))
                let read = unsafe pread(memory, chunk.baseAddress, wanted, off_t(start))
                guard read > 0 else { break }
                let places = unsafe positions(of: needle, in: chunk, count: read)
                found += places.count { place in !own.contains { $0.contains(start + UInt(place)) } }
                // What lies across two pieces is found as well.
                start += wanted < chunkSize ? UInt(wanted) : UInt(chunkSize - length + 1)
            }
        }
        return found
    }

    private static func end(_ buffer: UnsafeMutableRawBufferPointer) {
        _ = unsafe buffer.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe buffer.deallocate()
    }

    private static func place(of buffer: UnsafeMutableRawBufferPointer) -> Range<UInt> {
        let start = UInt(bitPattern: buffer.baseAddress)
        return start..<(start + UInt(buffer.count))
    }

    private static func positions(
        of needle: UnsafeMutableRawBufferPointer, in chunk: UnsafeMutableRawBufferPointer, count: Int
    ) -> [Int] {
        guard let base = chunk.baseAddress, let wanted = needle.baseAddress else { return [] }
        var places: [Int] = []
        var offset = 0
        while offset + needle.count <= count,
            let hit = unsafe memchr(base + offset, Int32(needle[0]), count - offset - needle.count + 1)
        {
            offset = unsafe hit - UnsafeMutableRawPointer(base)
            if unsafe memcmp(base + offset, wanted, needle.count) == 0 { places.append(offset) }
            offset += 1
        }
        return places
    }

    private static func writable() throws -> [Range<UInt>] {
        let file = unsafe open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Unreadable() }
        defer { close(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(file, &buffer, buffer.count)
            guard count >= 0 else { throw Unreadable() }
            if count == 0 { break }
            text += buffer[..<count]
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 1, words[1].hasPrefix("rw") else { return nil }
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return ends.count == 2 && ends[1] - ends[0] < shadowSize ? ends[0]..<ends[1] : nil
        }
    }
}
