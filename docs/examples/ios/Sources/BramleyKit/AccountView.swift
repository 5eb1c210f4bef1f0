#if canImport(SwiftUI) && canImport(AuthenticationServices)
    import AuthenticationServices
    import SwiftUI

    /// The button while nobody is signed in, the account afterwards. It starts the model, and asks for an account that
    /// this device already has before it shows the button.
    public struct AccountView: View {
        private let account: AccountModel
        private let onPassword: (_ user: String, _ password: String) -> Void
        @State private var isReady = false
        @State private var message: String?
        @Environment(\.authorizationController) private var authorizationController
        @Environment(\.scenePhase) private var scenePhase

        /// - Parameter onPassword: signs in to your own backend with a password that iCloud Keychain has saved.
        public init(
            account: AccountModel, onPassword: @escaping (_ user: String, _ password: String) -> Void = { _, _ in }
        ) {
            self.account = account
            self.onPassword = onPassword
        }

        public var body: some View {
            VStack(spacing: 16) {
                switch account.state {
                case .signedOut where isReady: SignInView(account: account)
                case .signedOut: ProgressView()
                case .signedIn(let person):
                    Text([person.name.given, person.name.family].compactMap { $0 }.joined(separator: " "))
                    Button("Sign out") { Task { await account.signOut() } }
                    Button("Delete account", role: .destructive) { Task { await delete() } }
                }
                if let message { Text(message) }
            }
            .task { await start() }
            .onChange(of: scenePhase) { _, phase in
                if phase == .active, isReady { Task { await account.refresh() } }
            }
        }

        private func start() async {
            guard !isReady else { return }
            await account.start()
            if account.state == .signedOut {
                do {
                    if let (user, password) = try await account.signInWithExisting(authorizationController.sheet) {
                        onPassword(user, password)
                    }
                } catch {
                    // Without an account or a connection, the person has the button.
                    message = error is SignInRefusal ? text(error) : nil
                }
            }
            isReady = true
        }

        private func delete() async {
            do {
                let isNotified = try await account.deleteAccount(authorizationController.sheet)
                message =
                    isNotified == false
                    ? "Also remove this app in Settings, under your name, Sign in with Apple." : nil
            } catch {
                message = text(error)
            }
        }
    }

    /// Apple's button, with the server's nonce.
    public struct SignInView: View {
        private let account: AccountModel
        /// Ready before the tap: the button asks for its request at once.
        @State private var challenge: Challenge?
        /// The one that the sheet was opened with.
        @State private var asked: Challenge?
        @State private var message: String?
        @Environment(\.colorScheme) private var colorScheme

        public init(account: AccountModel) { self.account = account }

        public var body: some View {
            VStack(spacing: 16) {
                SignInWithAppleButton(.signIn) { request in
                    request.requestedScopes = [.fullName, .email]
                    request.nonce = challenge?.forApple
                    asked = challenge
                } onCompletion: { result in
                    let answer = Result { try AppleAnswer(result.get().credential) }
                    Task { await finish(answer) }
                }
                .signInWithAppleButtonStyle(colorScheme == .dark ? .white : .black)
                .frame(height: 50)
                .disabled(challenge == nil)
                if let message { Text(message) }
            }
            .task { await keepChallenge() }
        }

        /// A challenge works for ten minutes.
        private func keepChallenge() async {
            while !Task.isCancelled {
                challenge = try? await account.client.challenge()
                try? await Task.sleep(for: .seconds(challenge == nil ? 5 : 300))
            }
        }

        private func finish(_ answer: Result<AppleAnswer, any Error>) async {
            do {
                guard let asked else { return }
                // A challenge works once.
                challenge = nil
                try await account.signIn(answer.get(), asked)
            } catch {
                message = text(error)
                challenge = try? await account.client.challenge()
            }
        }
    }

    /// What to tell the person. Nil: nothing, because they closed the sheet or have no account yet.
    private func text(_ error: any Error) -> String? {
        switch error {
        case SignInRefusal.pending: "Your account is waiting for approval."
        case SignInRefusal.disabled: "Your account is disabled."
        case SignInRefusal.closed: "New accounts are not possible at the moment."
        case let error as ASAuthorizationError where error.code == .canceled: nil
        case let problem as Problem where problem.isTemporary:
            "Please try again in \(Int(problem.retryAfter ?? 10)) seconds."
        default: "The sign-in failed. Please try again."
        }
    }

    extension AuthorizationController {
        public var sheet: AppleSheet {
            { requests, options in
                switch try await performRequests(requests, options: options) {
                case .appleID(let credential): try AppleAnswer(credential)
                case .password(let credential): try AppleAnswer(credential)
                default: throw ASAuthorizationError(.unknown)
                }
            }
        }
    }
#endif
