/// The endpoints that are counted and can be made to fail.
enum Endpoint: String, Sendable, CaseIterable {
    case configuration, authorize, token, keys, revoke, usermigrationinfo, script, button

    init?(path: String) {
        switch path {
        case "/.well-known/openid-configuration": self = .configuration
        case "/auth/authorize": self = .authorize
        case "/auth/token": self = .token
        case "/auth/keys": self = .keys
        case "/auth/revoke": self = .revoke
        case "/auth/usermigrationinfo": self = .usermigrationinfo
        case _ where ButtonStyle.Shape(rawValue: path) != nil: self = .button
        default:
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 8, Self.locales.contains(String(parts[6])),
                path == "/appleauth/static/jsapi/appleid/1/\(parts[6])/appleid.auth.js"
            else { return nil }
            self = .script
        }
    }

    /// Of the script and the button.
    static let locales: Set<String> = [
        "ar_SA", "ca_ES", "cs_CZ", "da_DK", "de_DE", "el_GR", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_CA",
        "fr_FR", "hr_HR", "hu_HU", "id_ID", "it_IT", "iw_IL", "ja_JP", "ko_KR", "ms_MY", "nl_NL", "no_NO", "pl_PL",
        "pt_BR", "pt_PT", "ro_RO", "ru_RU", "sk_SK", "sv_SE", "th_TH", "tr_TR", "uk_UA", "vi_VI", "zh_CN", "zh_HK",
        "zh_TW",
    ]
}
