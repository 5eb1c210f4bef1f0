import AuthenticationServices
import Foundation

/// Who is signed in to this app, and everything that changes it. Create one at launch and call `start()`.
@MainActor
final class AccountModel {
    enum State: Sendable {
        case signedOut
        case signedIn(Account)
    }

    private(set) var state = State.signedOut { didSet { onChange(state) } }
    /// Called after each change.
    var onChange: @MainActor (State) -> Void = { _ in }

    private let client: BramleyClient
    private let saved = KeychainItem(account: "session")
    /// A sign-in without an answer yet. It holds the name, which Apple gives once.
    private let pending = KeychainItem(account: "pending-sign-in")
    private var observer: (any NSObjectProtocol)?

    init(server: URL) { client = BramleyClient(server: server) }

    // MARK: At launch, and whenever the app becomes active

    func start() async {
        observer = NotificationCenter.default.addObserver(
            forName: ASAuthorizationAppleIDProvider.credentialRevokedNotification, object: nil, queue: .main
        ) { [weak self] _ in
            Task { @MainActor in await self?.signOut() }
        }
        await finishPendingSignIn()
        await refresh()
    }

    /// Asks Apple, then the server, whether the person is still signed in.
    func refresh() async {
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
            if let account = try await client.account(token: session.token) {
                save(SignedIn(token: session.token, user: account))
            } else {
                forget()
            }
        } catch {
            // No connection: the person stays signed in here, and the server decides at the next request.
        }
    }

    // MARK: What the person does

    func signIn(from anchor: ASPresentationAnchor) async throws {
        let challenge = try await client.challenge()
        let credential = try await AppleAuthorization(anchor: anchor).request(
            challenge, scopes: [.fullName, .email])
        let request = try SignInRequest(credential, challenge: challenge)
        // Stored first: if the app is killed now, the next launch sends the same bytes.
        try pending.write(request.encoded())
        try await finish(request)
    }

    func signOut() async {
        let session = savedSession
        forget()
        if let session { try? await client.signOut(token: session.token) }
    }

    /// Deletes the account. The person confirms it at Apple's sheet.
    /// - Returns: false if the server cannot notify Apple: show how to remove the app in Settings.
    @discardableResult
    func deleteAccount(from anchor: ASPresentationAnchor) async throws -> Bool? {
        guard let session = savedSession else { return nil }
        let challenge = try await client.challenge()
        let credential = try await AppleAuthorization(anchor: anchor).request(challenge, scopes: [])
        let request = try SignInRequest(credential, challenge: challenge)
        let isTold = try await client.deleteAccount(
            token: session.token, authorizationCode: request.authorizationCode, nonce: request.nonce)
        forget()
        return isTold
    }

    // MARK: Requests of your own

    /// For `Authorization: Bearer` in requests to your own server, which asks Bramley whose token it is.
    var token: String? { savedSession?.token }

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
        pending.remove()
        state = .signedOut
    }

    private func finishPendingSignIn() async {
        guard let data = pending.read(), let request = try? JSONDecoder().decode(SignInRequest.self, from: data)
        else { return }
        try? await finish(request)
    }

    private func finish(_ request: SignInRequest) async throws {
        do {
            save(try await client.signIn(request))
            pending.remove()
        } catch let problem as Problem where !problem.isTemporary {
            // Refused for good: the person taps again, with a new challenge. The server has stored the name.
            pending.remove()
            throw problem
        }
    }
}
