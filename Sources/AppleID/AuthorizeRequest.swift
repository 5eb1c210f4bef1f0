import Coding
import RelyingParty

/// The request to `/auth/authorize` that sends a browser to Apple.
///
/// `form_post` always: Apple demands it when a name or an address is asked for, and it keeps code and token out of
/// every URL. Spaces are `%20`; Apple shows `+` as an error page.
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
