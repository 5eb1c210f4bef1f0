import Coding

extension OpenIDProvider {
    /// Whether a client may name itself by a metadata document.
    package var acceptsDocuments: Bool { documents?.hosts.isEmpty == false }

    /// The provider's metadata (OIDC Discovery §3, RFC 8414 §2): only what works.
    package func metadata(services: [Service]) -> [UInt8] {
        let scopes = OpenIDScope.identity + services.flatMap { $0.scopes.map(\.scope) }
        var members: JSONObject =
            [
                "issuer": .string(issuer),
                "authorization_endpoint": .string(issuer + "/oidc/authorize"),
                "token_endpoint": .string(issuer + "/oidc/token"),
                "userinfo_endpoint": .string(issuer + "/oidc/userinfo"),
                "jwks_uri": .string(issuer + "/.well-known/jwks.json"),
                "revocation_endpoint": .string(issuer + "/oidc/revoke"),
                "device_authorization_endpoint": .string(issuer + "/oidc/device_authorization"),
                "introspection_endpoint": .string(issuer + "/api/v1/introspect"),
                "end_session_endpoint": .string(issuer + "/oidc/logout"),
                "backchannel_logout_supported": true,
                "backchannel_logout_session_supported": true,
                "scopes_supported": .texts(OpenIDScope.ordered(scopes).map(\.rawValue)),
                "response_types_supported": ["code"],
                "response_modes_supported": ["query", "form_post"],
                "grant_types_supported": [
                    "authorization_code", "refresh_token", .string(TokenRequest.deviceGrant),
                ],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
                "revocation_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
                // By a service: its id and secret, or its secret alone (RFC 8414 §2).
                "introspection_endpoint_auth_methods_supported": ["client_secret_basic", "Bearer"],
                "code_challenge_methods_supported": ["S256"],
                "claims_supported": .texts([
                    "iss", "sub", "aud", "exp", "iat", "auth_time", "sid", "at_hash", "nonce", "name", "given_name",
                    "family_name", "updated_at", "email", "email_verified", "groups", "apple_sub", "is_private_email",
                ]),
                "claim_types_supported": ["normal"],
                "prompt_values_supported": ["none", "login", "consent", "select_account"],
                "authorization_response_iss_parameter_supported": true,
                "claims_parameter_supported": false,
                "request_parameter_supported": false,
                // Absent, it would mean true.
                "request_uri_parameter_supported": false,
            ]
        // §6 of client ID metadata documents.
        if acceptsDocuments { members["client_id_metadata_document_supported"] = true }
        return JSONWriter.encode(members)
    }
}
