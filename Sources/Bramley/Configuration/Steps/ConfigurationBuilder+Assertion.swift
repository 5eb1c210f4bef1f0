import Accounts
import Crypto
import Web

extension ConfigurationBuilder {
    /// The longest audience, in bytes: every assertion contains it, and assertions are in header fields.
    static let longestAudience = 256
    /// The most audiences; assertions for all of them are kept per session.
    static let mostAudiences = 16
    /// Other meanings of `?assertion=`.
    private static let flags = ["true", "false"]

    func readAudiences(_ configuration: inout Configuration) {
        let (key, rsaKey) = ("assertion.audience", "assertion.rs256Audiences")
        let (audiences, rsa) = (values.list(key), values.list(rsaKey))
        guard let audiences, let rsa else { return }
        for audience in audiences {
            guard audience.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                audience.utf8.count <= Self.longestAudience
            else {
                return values.fail(
                    key, "is not a plain name.",
                    "Write at most \(Self.longestAudience) visible ASCII characters, such as "
                        + "\"https://api.example.com\".")
            }
            guard !Self.flags.contains(audience) else {
                return values.fail(
                    key, "is \(audience.quoted), which asks for the first audience or for none.",
                    "Write another name, such as \"https://api.example.com\".")
            }
        }
        guard audiences.count <= Self.mostAudiences else {
            return values.fail(key, "names \(audiences.count).", "Name at most \(Self.mostAudiences).")
        }
        if let unknown = rsa.first(where: { !audiences.contains($0) }) {
            return values.fail(
                rsaKey, "names \(unknown.quoted), which is not in \(key).",
                "Write the audience as it is there, or add it there.")
        }
        configuration.web.assertionAudiences = audiences.map {
            AssertionAudience(name: $0, algorithm: rsa.contains($0) ? .rs256 : .es256)
        }
    }

    /// RFC 8725 §3.12: an assertion must not be confused with Apple's tokens, or with those we send to Apple.
    func checkAudiences(_ configuration: Configuration) {
        let apple = configuration.apple
        let others = [apple.servicesID] + apple.bundleIDs + apple.issuers
        guard let name = configuration.web.assertionAudiences.map(\.name).first(where: others.contains) else { return }
        values.report(
            "assertion.audience", "is \(name.quoted), which is the audience of other tokens.",
            "Write a name of the backends that read assertions, such as \"https://api.example.com\".")
    }
}
