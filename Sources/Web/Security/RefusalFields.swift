package import HTTPTypes

extension WebApplication {
    /// The security fields of answers that the server sends without this handler: 400, 408, 414 and similar.
    package static func refusalFields(_ configuration: WebConfiguration) -> HTTPFields {
        var fields = HTTPFields()
        let policy = ContentSecurityPolicy(configuration)
        SecurityHeaders.add(to: &fields, policy: policy.nothing, isSecure: policy.isSecure, referrer: .noReferrer)
        return fields
    }
}
