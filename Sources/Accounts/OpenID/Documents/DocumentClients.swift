package import Coding
import Crypto
import Storage

// Clients known by their documents. Their rows are written when a person allows them, and never before.

extension OpenIDClient {
    /// `client_id` in requests and tokens: what was registered, or the address of its document.
    package var clientID: String { document ?? id.rawValue }

    /// - Parameter stored: its row, if somebody has allowed it before.
    fileprivate init(_ document: ClientDocument, at url: String, stored: OpenIDClient?, now: Timestamp) {
        self = stored ?? OpenIDClient(new: OpenIDClientID(document: url), at: now)
        self.document = url
        name = document.name
        redirectURIs = document.redirectURIs
        scopes = OpenIDScope.ordered(OpenIDScope.usual + [.offlineAccess])
        (requiresPKCE, needsConsent) = (true, true)
    }
}

extension OpenIDProvider {
    /// The client of an authorization request: registered, or known by a document, which is fetched unless it is in
    /// memory. Nil for an unknown one.
    package func client(named text: String) async throws(Failure) -> OpenIDClient? {
        guard let documents, text.hasPrefix("https://") else { return try await storedClient(named: text) }
        if let reason = ClientRules.refusal(ofDocument: text) { throw .document(text, reason) }
        if isAudience(text) { throw .document(text, "its address is in assertion.audience") }
        let id = OpenIDClientID(document: text)
        let stored = try await database.openIDClient(id)
        // An operator's own, from before such ids were reserved.
        if let stored, stored.document?.isExactly(text) != true { return nil }
        var found = try await documents.document(at: text, isKnown: stored != nil)
        if let stored, found.document.differs(from: stored) {
            // Perhaps another process has fetched a newer one.
            found = try await documents.document(at: text, isKnown: true, after: stored.updatedAt)
            if found.document.differs(from: stored) {
                // It has, and the host fails: an older one must not bring back addresses that are gone.
                if found.fetchedAt < stored.updatedAt { return stored }
                try await database.changeRedirectURIs(of: id, to: found.document.redirectURIs, at: clock.now())
            }
        }
        return OpenIDClient(found.document, at: text, stored: stored, now: clock.now())
    }

    /// The same without a fetch, once a person has allowed it.
    package func storedClient(named text: String) async throws(Failure) -> OpenIDClient? {
        guard let id = OpenIDClientID(named: text), !isAudience(text), let client = try await database.openIDClient(id),
            client.clientID.isExactly(text)
        else { return nil }
        return admits(document: client.document) ? client : nil
    }

    /// Nil, of a registered client, always.
    func admits(document url: String?) -> Bool {
        guard let url else { return true }
        return documents.map { ClientDocument.admits(url, $0.hosts) } == true
    }
}

extension ClientDocument {
    fileprivate func differs(from client: OpenIDClient) -> Bool { Set(redirectURIs) != Set(client.redirectURIs) }
}

extension Transaction {
    /// What its document says now.
    func saveDocumentClient(_ client: OpenIDClient) throws {
        let stored = try openIDClient(client.id)
        if let stored, client.isDescribed(as: stored) { return }
        var client = client
        client.updatedAt = now
        try save(client, isNew: stored == nil)
    }
}

extension OpenIDClient {
    fileprivate func isDescribed(as other: OpenIDClient) -> Bool {
        name.isExactly(other.name) && redirectURIs == other.redirectURIs && scopes == other.scopes
    }
}

extension Database {
    /// Answers may go elsewhere than what people have allowed (§8.4): they are asked again. Nothing else ends.
    fileprivate func changeRedirectURIs(
        of id: OpenIDClientID, to uris: [String], at now: Timestamp
    ) async throws(Failure) {
        try await write(at: now) { transaction in
            guard var client = try transaction.openIDClient(id), Set(client.redirectURIs) != Set(uris) else { return }
            (client.redirectURIs, client.updatedAt) = (uris, now)
            try transaction.save(client, isNew: false)
            try transaction.run("DELETE FROM openid_consent WHERE client = ?", [id])
        }
    }

    /// Ends what clients hold whose documents are not on these hosts.
    package func endDocumentClients(outside hosts: [String], at now: Timestamp) async throws(Failure) {
        let ended = try await openIDClients().filter { $0.document.map { !ClientDocument.admits($0, hosts) } ?? false }
        guard !ended.isEmpty else { return }
        try await write(at: now) { transaction in
            for client in ended where try transaction.openIDClient(client.id) != nil {
                try transaction.delete(client.id)
            }
        }
    }
}
