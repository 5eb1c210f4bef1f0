extension ConfigurationBuilder {
    /// The longest audience, in bytes: it is in every assertion, and those are in header fields.
    static let longestAudience = 256

    /// - Parameter apple: nil when it has a problem of its own.
    func assertion(_ apple: Configuration.Apple?) -> Configuration.Assertion? {
        let key = "assertion.audience"
        guard let audience = values.text(key) else {
            return values.isGiven(key) ? nil : Configuration.Assertion(audience: nil)
        }
        guard audience.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), audience.utf8.count <= Self.longestAudience
        else {
            values.fail(
                key, "is no plain name.",
                "Write at most \(Self.longestAudience) visible ASCII characters, such as \"https://api.example.com\".")
            return nil
        }
        // RFC 8725 §3.12: an assertion has nothing in common with Apple's tokens, or with those we send to Apple.
        let taken = [apple?.servicesID].compactMap { $0 } + (apple?.bundleIDs ?? []) + (apple?.issuers ?? [])
        guard !taken.contains(audience) else {
            values.fail(
                key, "is \(audience.quoted), which is the audience of other tokens.",
                "Write a name of the backends that read assertions, such as \"https://api.example.com\".")
            return nil
        }
        return Configuration.Assertion(audience: audience)
    }
}
