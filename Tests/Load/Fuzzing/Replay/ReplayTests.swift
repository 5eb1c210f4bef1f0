import Foundation
import Testing

/// What the fuzzer starts from and what it found once, through the same targets without the fuzzer.
@Suite struct ReplayTests {
    @Test(arguments: FuzzTarget.all.map(\.name))
    func seedsHoldWhateverTheyAre(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let seeds = try Self.inputs("Seeds", name)
        #expect(seeds.count >= 3, "without seeds the fuzzer starts from nothing")
        var accepted = 0
        for seed in seeds {
            #expect(throws: Never.self, "\(seed.name)") {
                if try target.run(seed.bytes) != nil { accepted += 1 }
            }
        }
        #expect(accepted > 0, "nothing of it is accepted, so the fuzzer sees refusals alone")
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func inputsThatOnceFailedPass(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        for failure in try Self.inputs("Failures", name) {
            #expect(throws: Never.self, "\(failure.name)") { try target.run(failure.bytes) }
        }
    }

    @Test func foldersMatchTheTargets() throws {
        let names = Set(FuzzTarget.all.map(\.name))
        #expect(names.count == FuzzTarget.all.count)
        #expect(Set(try Self.names("Seeds")) == names)
        #expect(Set(try Self.names("Failures")).isSubset(of: names.union(["README.md"])))
        #expect(Set(try Self.names("Dictionaries").map { String($0.prefix { $0 != "." }) }).isSubset(of: names))
    }

    @Test func partsAreReadLikeTheWhole() {
        let input = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        for ends in [Cuts.chosen(input), Cuts.chosen([])] {
            #expect(ends == ends.sorted())
        }
        #expect(Cuts.chosen(input).last == input.count)
        #expect(Cuts.chosen(input).count > 1)
        #expect(Cuts.chosen(Array(input.dropLast())) != Cuts.chosen(input))
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "..").standardized

    private static func names(_ kind: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: kind).path)
    }

    private static func inputs(_ kind: String, _ name: String) throws -> [(name: String, bytes: [UInt8])] {
        let place = folder.appending(path: kind).appending(path: name)
        guard FileManager.default.fileExists(atPath: place.path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: place.path).sorted().map { file in
            (file, Array(try Data(contentsOf: place.appending(path: file))))
        }
    }
}
