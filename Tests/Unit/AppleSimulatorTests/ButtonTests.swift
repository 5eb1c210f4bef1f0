import AppleSimulator
import HTTPTypes
import Testing

@Suite struct ButtonTests {
    private func size(_ png: [UInt8]) -> [Int] {
        guard png.count > 24, Array(png.prefix(8)) == [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] else {
            return []
        }
        return [16, 20].map { start in png[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    }

    @Test(arguments: [
        ("", [140, 30]), ("?height=64&width=375&scale=2", [750, 128]),
        ("/left?type=continue&color=white&border=true", [140, 30]),
        ("/logo?height=40", [40, 40]), ("?border_radius=0&locale=de_DE", [140, 30]),
    ])
    func imageHasTheRequestedSize(_ target: String, _ expected: [Int]) async throws {
        let answer = try await Fixture().get("/appleid/button" + target)
        #expect(answer.status == 200)
        #expect(answer.fields[.contentType] == "image/png")
        #expect(size(answer.body) == expected)
    }

    @Test(arguments: [
        "?height=29", "?height=65", "?width=129", "?width=376", "?scale=0", "?scale=7", "?border_radius=51",
        "?color=red",
        "?type=sign-up", "?border=1", "?locale=xx", "?height=x", "/right",
    ])
    func badParameterIsNotFound(_ target: String) async throws {
        #expect(try await Fixture().get("/appleid/button" + target).status == 404)
    }
}
