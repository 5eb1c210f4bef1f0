/// Maps paths to endpoints.
enum Route {
    static func endpoint(of path: String) -> Endpoint? {
        switch path {
        case "/.well-known/openid-configuration": .configuration
        case "/auth/authorize": .authorize
        case "/auth/token": .token
        case "/auth/keys": .keys
        case "/auth/revoke": .revoke
        case "/auth/usermigrationinfo": .usermigrationinfo
        case "/appleid/button", "/appleid/button/left", "/appleid/button/logo": .button
        default: locale(ofScript: path) == nil ? nil : .script
        }
    }

    /// `/appleauth/static/jsapi/appleid/1/{locale}/appleid.auth.js`
    static func locale(ofScript path: String) -> String? {
        let prefix = "/appleauth/static/jsapi/appleid/1/"
        let suffix = "/appleid.auth.js"
        guard path.hasPrefix(prefix), path.hasSuffix(suffix), path.utf8.count > prefix.utf8.count + suffix.utf8.count
        else { return nil }
        let locale = String(path.dropFirst(prefix.count).dropLast(suffix.count))
        return locales.contains(locale) ? locale : nil
    }

    static let locales: Set<String> = [
        "ar_SA", "ca_ES", "cs_CZ", "da_DK", "de_DE", "el_GR", "en_GB", "en_US", "es_ES", "es_MX", "fi_FI", "fr_CA",
        "fr_FR", "hr_HR", "hu_HU", "id_ID", "it_IT", "iw_IL", "ja_JP", "ko_KR", "ms_MY", "nl_NL", "no_NO", "pl_PL",
        "pt_BR", "pt_PT", "ro_RO", "ru_RU", "sk_SK", "sv_SE", "th_TH", "tr_TR", "uk_UA", "vi_VI", "zh_CN", "zh_HK",
        "zh_TW",
    ]
}
