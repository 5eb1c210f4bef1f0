#if canImport(AuthenticationServices)
    import AuthenticationServices
    import Foundation
    import Observation

    /// Who is signed in to this app, and everything that changes it. Create one at launch and call `start()`.
    @MainActor
    @Observable
    public final class AccountModel {
        public enum State: Hashable, Sendable {
            case signedOut
            case signedIn(Account)
        }

        public private(set) var state = State.signedOut
        @ObservationIgnored public let client: BramleyClient
        @ObservationIgnored private let saved: KeychainItem
        /// A sign-in without an answer yet. It holds the name, which Apple gives once.
        @ObservationIgnored private let unanswered: KeychainItem
        @ObservationIgnored private var observer: (any NSObjectProtocol)?

        /// - Parameter keychainGroup: shared with extensions, such as `TEAM123456.com.example.shared`.
        public init(client: BramleyClient, keychainGroup: String? = nil) {
            self.client = client
            saved = KeychainItem(account: "session", group: keychainGroup)
            unanswered = KeychainItem(account: "pending-sign-in", group: keychainGroup)
        }

        // MARK: At launch, and whenever the app becomes active

        public func start() async {
            if observer == nil {
                observer = NotificationCenter.default.addObserver(
                    forName: ASAuthorizationAppleIDProvider.credentialRevokedNotification, object: nil, queue: .main
                ) { [weak self] _ in
                    Task { @MainActor in await self?.signOut() }
                }
            }
            await refresh()
        }

        /// Finishes a sign-in without an answer, then asks Apple and the server whether the person is still signed in.
        public func refresh() async {
            await finishUnanswered()
            guard let session = savedSession else {
                state = .signedOut
                return
            }
            state = .signedIn(session.user)
            let provider = ASAuthorizationAppleIDProvider()
            switch try? await provider.credentialState(forUserID: session.user.appleSubject) {
            case .revoked, .notFound: return await signOut()
            // The app has moved to another team: the server knows both of the person's ids.
            case .authorized, .transferred, nil: break
            @unknown default: break
            }
            do {
                let account = try await client.account(token: session.token)
                // The person may have signed out meanwhile, or in again.
                guard token == session.token else { return }
                if let account {
                    save(SignedIn(token: session.token, user: account))
                } else {
                    forget()
                }
            } catch {
                // No connection: the person stays signed in here, and the server decides at the next request.
            }
        }

        // MARK: What the person does

        /// At launch, for somebody who is signed out: offers the account with Apple or the password that this device
        /// already has, so that nobody makes a second account. Without one, nothing is shown.
        /// - Returns: a saved password, for your own backend.
        /// - Throws: as `signIn`; `ASAuthorizationError`, `.canceled` if there is nothing or the person declined.
        public func signInWithExisting(
            _ sheet: AppleSheet
        ) async throws -> (user: String, password: String)? {
            let challenge = try await client.challenge()
            let answer = try await sheet(
                [request(challenge, scopes: [.fullName, .email]), ASAuthorizationPasswordProvider().createRequest()],
                .preferImmediatelyAvailableCredentials)
            if case .password(let user, let password) = answer { return (user, password) }
            try await signIn(answer, challenge)
            return nil
        }

        /// - Throws: `SignInRefusal`, `Problem` or `URLError`; `ASAuthorizationError`, `.canceled` if the person closed
        ///   the sheet.
        public func signIn(_ sheet: AppleSheet) async throws {
            let challenge = try await client.challenge()
            try await signIn(sheet([request(challenge, scopes: [.fullName, .email])], []), challenge)
        }

        /// What a `SignInWithAppleButton` was given for this challenge.
        public func signIn(_ answer: AppleAnswer, _ challenge: Challenge) async throws {
            guard let request = SignInRequest(answer, challenge) else { throw ASAuthorizationError(.invalidResponse) }
            // Stored first: if the app is killed now, the next launch sends the same bytes.
            try unanswered.write(request.encoded())
            try await finish(request, client)
        }

        public func signOut() async {
            let session = savedSession
            forget()
            if let session { try? await client.signOut(token: session.token) }
        }

        /// Deletes the account. The person confirms it at Apple's sheet.
        /// - Returns: false if the server cannot notify Apple: show how to remove the app in Settings.
        @discardableResult
        public func deleteAccount(_ sheet: AppleSheet) async throws -> Bool? {
            guard let session = savedSession else { return nil }
            let challenge = try await client.challenge()
            guard let given = SignInRequest(try await sheet([request(challenge, scopes: [])], []), challenge) else {
                throw ASAuthorizationError(.invalidResponse)
            }
            let isNotified = try await client.deleteAccount(
                token: session.token, authorizationCode: given.authorizationCode, nonce: given.nonce)
            forget()
            return isNotified
        }

        /// Connects Apple with the person's account at your own backend. Signs nobody in.
        /// - Returns: the code with which your backend completes the link.
        public func authorize(_ link: AccountLink, _ sheet: AppleSheet) async throws -> String {
            let asked = request(Challenge(nonce: link.nonce), scopes: [.fullName, .email])
            guard case .apple(let token, let code, let name) = try await sheet([asked], []) else {
                throw ASAuthorizationError(.invalidResponse)
            }
            return try await client.authorize(
                link, with: LinkProof(identityToken: token, authorizationCode: code, user: name))
        }

        // MARK: Requests of your own

        /// For `Authorization: Bearer` in requests to your own server, which asks Bramley whose token it is.
        public var token: String? { savedSession?.token }

        /// The same for a server that checks the assertion by itself. Nil: nobody is signed in any more.
        public func assertion(audience: String? = nil) async throws -> String? {
            guard let token else { return nil }
            do {
                return try await client.assertion(token: token, audience: audience)
            } catch let problem as Problem where problem.status == 401 {
                forget()
                return nil
            }
        }

        // MARK: The Keychain

        private var savedSession: SignedIn? {
            saved.read().flatMap { try? JSONDecoder().decode(SignedIn.self, from: $0) }
        }

        private func save(_ session: SignedIn) {
            guard let data = try? JSONEncoder().encode(session) else { return }
            try? saved.write(data)
            state = .signedIn(session.user)
        }

        private func forget() {
            saved.remove()
            unanswered.remove()
            state = .signedOut
        }

        private func finishUnanswered() async {
            guard let data = unanswered.read(), let request = try? JSONDecoder().decode(SignInRequest.self, from: data)
            else { return }
            // Once, so that a launch does not wait for long: the next one tries again.
            var client = client
            client.retries = 0
            try? await finish(request, client)
        }

        private func finish(_ request: SignInRequest, _ client: BramleyClient) async throws {
            do {
                save(try await client.signIn(request))
                unanswered.remove()
            } catch {
                // Refused for good: the person taps again, with a new challenge. The server has stored the name.
                if error is SignInRefusal || (error as? Problem)?.isTemporary == false { unanswered.remove() }
                throw error
            }
        }

        private func request(_ challenge: Challenge, scopes: [ASAuthorization.Scope]) -> ASAuthorizationAppleIDRequest {
            let request = ASAuthorizationAppleIDProvider().createRequest()
            request.requestedScopes = scopes
            request.nonce = challenge.forApple
            return request
        }
    }
#endif
