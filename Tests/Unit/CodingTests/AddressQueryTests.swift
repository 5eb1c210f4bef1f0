import Coding
import Testing

@Suite struct AddressQueryTests {
    @Test(
        "the address keeps its own query and fragment",
        arguments: [
            ("https://a.example/x", "https://a.example/x?k=v"), ("https://a.example/x?", "https://a.example/x?k=v"),
            ("https://a.example/x?a=1", "https://a.example/x?a=1&k=v"),
            ("https://a.example/x?a=1&", "https://a.example/x?a=1&k=v"),
            ("https://a.example/x#f", "https://a.example/x?k=v#f"),
            ("https://a.example/x?a=1#f?g#h", "https://a.example/x?a=1&k=v#f?g#h"), ("/", "/?k=v"),
        ])
    func appends(address: String, expected: String) {
        #expect(AddressQuery.append("k=v", to: address) == expected)
    }
}
