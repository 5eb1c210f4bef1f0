import Accounts
import Coding

/// The request to `/auth/authorize` that sends a browser to Apple.
///
/// Always `form_post`: Apple requires it when name or email is requested, and it keeps code and token out of URLs.
/// Spaces are `%20`; for `+` Apple shows an error page.
struct AuthorizeRequest: Sendable {
    private let beforeState: String
    private let afterState: String

    init(configuration: AppleConfiguration) {
        func pair(_ name: String, _ value: String) -> String { name + "=" + PercentEncoding.encodeComponent(value) }
        beforeState =
            configuration.endpoint.base + "/auth/authorize?"
            + [
                pair("client_id", configuration.servicesID.rawValue),
                pair("redirect_uri", configuration.redirectURI),
                pair("response_type", "code id_token"),
                "state=",
            ].joined(separator: "&")
        let scope = configuration.scopes.isEmpty ? "" : pair("&scope", configuration.scopes.joined(separator: " "))
        afterState = scope + "&response_mode=form_post&nonce="
    }

    /// The complete URL, every value percent-encoded.
    func url(state: String, nonce: String) -> String {
        beforeState + PercentEncoding.encodeComponent(state) + afterState + PercentEncoding.encodeComponent(nonce)
    }
}
