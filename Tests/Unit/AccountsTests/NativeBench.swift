import Crypto

@testable import Accounts

extension SignInBench {
    func native(_ request: NativeSignInRequest) async -> NativeSignInOutcome {
        await signIn.completeNative(request, device: Device(userAgent: "Notes/1", address: "127.0.0.1"))
    }

    /// Another process over the same store, with nothing in memory.
    func restarted(_ keyring: SealingKeyring? = nil) -> SignInBench { SignInBench(after: self, keyring: keyring) }
}

extension NativeSignInOutcome {
    var signedIn: (token: SessionToken, signedIn: SignedIn)? {
        if case .signedIn(let token, let signedIn) = self { (token, signedIn) } else { nil }
    }
    var failure: Failure? {
        if case .failed(let failure) = self { failure } else { nil }
    }
    /// The case's name, for tables.
    var name: String {
        switch self {
        case .signedIn: "signedIn"
        case .refused(let refusal, _): refusal.rawValue
        case .refusedBefore(let refusal): refusal.rawValue
        case .failed(let failure): failure.code.rawValue
        }
    }
}
