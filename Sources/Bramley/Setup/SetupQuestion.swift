/// One question of `bramley init`: a key of the table, its short flag, and the offered answer.
struct SetupQuestion: Sendable {
    let key: ConfigurationKey
    /// `--team-id`; the table's own `--apple-team-id` is accepted as well.
    let flag: String
    private let offer: @Sendable (ConfigurationDraft, Surroundings) -> Offer
    /// Whether the answers so far make it a question at all.
    let isAsked: @Sendable (ConfigurationDraft) -> Bool
    /// Why Enter alone is not an answer, though the configuration could do without; nil when it may be omitted.
    let need: String?

    /// The meaning of Enter.
    struct Offer {
        /// As it is shown.
        var shown: String
        /// The value it sets; nil omits the key.
        var text: String?
    }

    /// What can be found in the working directory.
    struct Surroundings: Sendable {
        /// The `AuthKey_….p8` in the working directory.
        var keyFiles: [String] = []
    }

    /// - Returns: nil when Enter alone is not an answer.
    func offer(_ draft: ConfigurationDraft, _ surroundings: Surroundings) -> Offer? {
        let offer = offer(draft, surroundings)
        return offer.shown.isEmpty ? nil : offer
    }

    private init?(
        _ name: String, _ flag: String, need: String? = nil,
        offer: @escaping @Sendable (ConfigurationDraft, Surroundings) -> Offer = { _, _ in Offer(shown: "") },
        isAsked: @escaping @Sendable (ConfigurationDraft) -> Bool = { _ in true }
    ) {
        guard let key = ConfigurationTable.byName[name] else { return nil }
        self.key = key
        self.flag = flag
        self.need = need
        self.isAsked = isAsked
        self.offer = offer
    }

    /// In the order asked. A required key without a default is a decision: nothing is offered for it, except what
    /// Apple's key file tells.
    static let all: [SetupQuestion] = [
        SetupQuestion("publicURL", "--public-url"),
        SetupQuestion("apple.servicesID", "--services-id"),
        SetupQuestion("apple.teamID", "--team-id"),
        SetupQuestion("apple.privateKeyFile", "--private-key-file") { _, surroundings in
            let only = surroundings.keyFiles.count == 1 ? surroundings.keyFiles.first : nil
            return Offer(shown: only ?? "", text: only)
        },
        SetupQuestion("apple.keyID", "--key-id") { draft, _ in
            let named = draft.keyIDOfFile
            return Offer(shown: named ?? "", text: named)
        },
        SetupQuestion(
            "apple.bundleIDs", "--bundle-ids",
            need: """
                Required. In Apple's portal: Identifiers, Services IDs, yours, Sign in with Apple, Configure shows the \
                primary App ID, and Identifiers, App IDs its bundle ID. Without it, people who stop using your site at \
                Apple stay signed in. To go on without, write none.
                """),
        SetupQuestion("apple.scopes", "--scopes") { _, _ in Offer(shown: "name, email", text: "name,email") },
        SetupQuestion("access.signUp", "--sign-up"),
        SetupQuestion("site.name", "--site-name") { draft, _ in
            Offer(shown: draft.host ?? "the host of publicURL", text: nil)
        },
        SetupQuestion("server.certificateFile", "--certificate-file") { _, _ in
            Offer(shown: "none: a proxy in front holds it", text: nil)
        } isAsked: {
            $0.isSecure
        },
        SetupQuestion("server.privateKeyFile", "--certificate-key-file", isAsked: { $0.hasCertificate }),
        SetupQuestion("server.trustedProxies", "--trusted-proxies") { draft, _ in
            // A site with TLS that does not have the certificate has a proxy in front, most often on the same machine.
            draft.isSecure && !draft.hasCertificate
                ? Offer(shown: "127.0.0.1", text: "127.0.0.1") : Offer(shown: "none", text: nil)
        },
        SetupQuestion("sessions.cookieDomain", "--cookie-domain") { draft, _ in
            Offer(shown: "none: \(draft.host ?? "publicURL's host") only", text: nil)
        } isAsked: {
            $0.hasParentDomain
        },
        SetupQuestion("login.allowedReturnOrigins", "--return-origins") { _, _ in Offer(shown: "none", text: nil) },
    ].compactMap { $0 }

    /// The key's text for what a person typed: lists separated by commas or blanks, `none` for the empty one; nil omits
    /// the key, like Enter.
    func text(ofAnswer answer: String, offer: Offer?) -> String? {
        guard key.type == .list else {
            if let offer, offer.text == nil, answer == "none" { return nil }
            return answer
        }
        let entries = answer.split { $0 == "," || $0.isWhitespace }
        return entries == ["none"] || entries == ["[]"] ? "" : entries.joined(separator: ",")
    }
}
