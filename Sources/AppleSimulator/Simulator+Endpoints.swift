import Coding
import HTTP
import HTTPTypes

extension Simulator {
    func endpointAnswer(_ request: ServerRequest, endpoint: Endpoint) async -> ServerResponse {
        do {
            switch endpoint {
            case .token, .revoke, .usermigrationinfo:
                guard request.method == .post else { return .methodNotAllowed("POST") }
                try checkContentType(request)
            case .configuration, .authorize, .keys, .script, .button:
                guard request.method == .get || request.method == .head else { return .methodNotAllowed("GET, HEAD") }
            }
            return switch endpoint {
            case .configuration: discovery(request)
            case .authorize: authorize(request)
            case .keys: .json(change { world, _ in world.keys.published })
            case .token: try token(form(request))
            case .revoke: try await revoke(form(request))
            case .usermigrationinfo: try migrate(request)
            case .script: .file(PackageResources.appleid_auth_js, type: "text/javascript;charset=UTF-8")
            case .button: button(request)
            }
        } catch {
            let describes = change { world, moment in
                world.journal.record("\(error.code): \(error.reason)", endpoint: endpoint.rawValue, at: moment)
                return world.behaviour.describesErrors
            }
            return .oauthError(error, describes: describes)
        }
    }

    /// Only form bodies. Apple finds no client in anything else.
    private func checkContentType(_ request: ServerRequest) throws(OAuthError) {
        let type = MediaType.essence(of: request.fields)
        guard type == "application/x-www-form-urlencoded" else {
            throw .client("the content type is \(type ?? "missing"), not a form")
        }
    }

    func form(_ request: ServerRequest) -> FormFields {
        FormFields(parsing: String(decoding: request.body, as: UTF8.self), plusIsSpace: true)
    }

    private func token(_ fields: FormFields) throws(OAuthError) -> ServerResponse {
        let answer = try change { world, moment throws(OAuthError) in
            let answer = try world.token(fields, at: moment)
            world.journal.record(
                "\(fields["grant_type"] ?? "") for \(fields["client_id"] ?? "")", endpoint: "token", at: moment)
            return answer
        }
        return .json(answer.json())
    }

    private func revoke(_ fields: FormFields) async throws(OAuthError) -> ServerResponse {
        let (ended, notifies) = try change { world, moment throws(OAuthError) in
            let ended = try world.revoke(fields, at: moment)
            world.journal.record(
                ended.map { "revoked \($0.person) for \($0.team)" } ?? "nothing to revoke", endpoint: "revoke",
                at: moment)
            return (ended, world.behaviour.notifiesOnRevoke)
        }
        if let ended, notifies {
            // Apple's answer does not depend on the notification.
            _ = try? await notify(["type": "consent-revoked", "person": .string(ended.person)])
        }
        return ServerResponse(status: .ok, body: .bytes([]))
    }

    private func migrate(_ request: ServerRequest) throws(OAuthError) -> ServerResponse {
        let fields = form(request)
        let bearer = request.fields[.authorization].flatMap { field in
            field.lowercased().hasPrefix("bearer ") ? String(field.dropFirst(7)) : nil
        }
        return .json(
            try change { world, moment throws(OAuthError) in
                try world.migrate(fields, bearer: bearer, at: moment)
            })
    }

    /// Apple's document with this simulator's addresses, complete and in order.
    private func discovery(_ request: ServerRequest) -> ServerResponse {
        // The address at which the caller reached us: the simulator may have been given any free port.
        let origin = "http://" + (request.head.authority ?? "127.0.0.1")
        return .json([
            "issuer": .string(configuration.issuer),
            "authorization_endpoint": .string(origin + "/auth/authorize"),
            "token_endpoint": .string(origin + "/auth/token"),
            "revocation_endpoint": .string(origin + "/auth/revoke"),
            "jwks_uri": .string(origin + "/auth/keys"),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query", "fragment", "form_post"],
            "subject_types_supported": ["pairwise"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "name"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "claims_supported": [
                "aud", "email", "email_verified", "exp", "iat", "is_private_email", "iss", "nonce", "nonce_supported",
                "real_user_status", "sub", "transfer_sub",
            ],
        ])
    }

    private func button(_ request: ServerRequest) -> ServerResponse {
        let fields = FormFields(parsing: request.query ?? "", plusIsSpace: true)
        guard let style = ButtonStyle(path: request.path, fields) else { return .notFound }
        return .file(style.png(), type: "image/png", isCached: true)
    }
}

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
