import AppleID
import Testing

struct AuthorizeRequestTests {
    @Test func namesEveryParameterExactly() throws {
        let apple = try Apple()
        #expect(
            apple.provider.authorizeURL(state: "st4te", nonce: "n0nce")
                == "https://appleid.apple.com/auth/authorize?client_id=com.example.web"
                + "&redirect_uri=https%3A%2F%2Flogin.example.com%2Fapple%2Fcallback&response_type=code%20id_token"
                + "&state=st4te&scope=name%20email&response_mode=form_post&nonce=n0nce")
    }

    @Test func omitsEmptyScopeAndEncodesDelimiters() throws {
        let url = try Apple(scopes: []).provider.authorizeURL(state: "s", nonce: "n")
        #expect(!url.contains("scope"))
        #expect(url.contains("&response_mode=form_post"))
        let encoded = try Apple().provider.authorizeURL(state: "a&b=c d+e#f", nonce: "é")
        #expect(encoded.contains("&state=a%26b%3Dc%20d%2Be%23f&"))
        #expect(encoded.hasSuffix("&nonce=%C3%A9"))
        #expect(!encoded.contains("+"))
    }
}
