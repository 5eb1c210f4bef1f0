/// Whether a cookie domain would be shared with strangers.
///
/// The whole Public Suffix List changes weekly and has 15,000 lines; browsers enforce it. This is the part an operator
/// is likely to meet, so that the mistake shows at start and not as a cookie that never arrives.
enum PublicSuffix {
    static func contains(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".").map(String.init)
        guard labels.count > 1 else { return true }
        if shared.contains(domain) { return true }
        // co.uk, com.au, org.nz: a generic second level below a country of two letters.
        return labels.count == 2 && labels[1].utf8.count == 2 && secondLevels.contains(labels[0])
    }

    private static let secondLevels: Set<String> = [
        "ac", "co", "com", "edu", "gob", "gov", "go", "govt", "gr", "ltd", "me", "mil", "ne", "net", "nom", "or", "org",
        "plc", "sch",
    ]

    /// Domains whose direct children belong to different people.
    private static let shared: Set<String> = [
        "appspot.com", "azurewebsites.net", "blogspot.com", "cloudfront.net", "fly.dev", "github.io", "gitlab.io",
        "herokuapp.com", "netlify.app", "ngrok-free.app", "ngrok.io", "onrender.com", "pages.dev", "run.app",
        "trycloudflare.com",
        "up.railway.app", "vercel.app", "web.app", "workers.dev",
    ]
}
