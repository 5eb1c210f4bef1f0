import Coding
import Crypto
import Gates
import Storage
import Stores
import Testing

@testable import Accounts

/// Apple's answer is under way, Apple ends the consent, the user is deleted: whichever way the answer came, nobody is
/// signed in by it, connected, or made.
@Suite struct ConsentEndPathTests {
    enum Path: CaseIterable {
        case browser, app, newcomer, linkInBrowser, linkInApp
    }

    /// What ends the user, and when Apple's word comes.
    enum End: CaseIterable {
        case toldThenDeleted, deletedThenTold, erasedByApple
    }

    @Test(arguments: Path.allCases, End.allCases)
    func refuses(path: Path, end: End) async throws {
        let bench = try LinkBench(asksExisting: path == .newcomer)
        let user = try #require(try await bench.database.completeSignIn(record(at: bench.now)).user)
        bench.clock.advance(seconds: 60)
        bench.apple.gate.shut()
        async let outcome = go(path, bench)
        await bench.apple.gate.arrived(1)
        bench.clock.advance(seconds: 2)
        let told = notification(end == .erasedByApple ? .accountDeleted : .consentRevoked, time: bench.now)
        if end != .deletedThenTold { _ = try await bench.database.apply(told, team: Bench.team, at: bench.now) }
        if end != .erasedByApple { _ = try await bench.database.deleteUser(user.id, at: bench.now) }
        if end == .deletedThenTold { _ = try await bench.database.apply(told, team: Bench.team, at: bench.now) }
        bench.clock.advance(seconds: 1)
        bench.apple.gate.open()
        #expect(try await outcome == "revoked")
        #expect(try await bench.database.user(team: Bench.team, subject: AppleSubject("ann")) == nil)
        #expect(try await bench.user() == nil)
        // A person who consents again is new.
        guard case .signedIn(_, let session, _) = await (try bench.beside()).signInWithApple() else {
            throw Unexpected()
        }
        #expect(session.user != user.id)
    }

    /// The whole way; its reason, "ok" when it leads somewhere.
    private func go(_ path: Path, _ bench: LinkBench) async throws -> String {
        switch path {
        case .browser: return reason(await bench.signInWithApple())
        case .newcomer:
            // No user any more, so they are asked.
            guard case .asksExisting(let person) = await bench.signInWithApple() else { throw Unexpected() }
            return reason(
                try await bench.signIn.signUp(
                    waiting: person.id, binding: .value(bench.browser), device: bench.device))
        case .app:
            let nonce = bench.signIn.beginNative().nonce
            let request = bench.request(nonce)
            let outcome = await bench.signIn.completeNative(
                NativeSignInRequest(
                    identityToken: request.identityToken, authorizationCode: request.authorizationCode, nonce: nonce),
                device: bench.device)
            if case .failed(let failure) = outcome { return failure.code.rawValue }
            return "ok"
        case .linkInApp:
            let link = try await bench.link()
            return await StorageTests.reason { _ = try await bench.complete(link, try await bench.authorize(link)) }
        case .linkInBrowser:
            let link = try await bench.link()
            guard case .linkAuthorized(let location) = await bench.post(bench.form(try await bench.begin(link))) else {
                throw Unexpected()
            }
            let code = try #require(location.split(separator: "code=").last.map(String.init))
            return await StorageTests.reason {
                _ = try await bench.signIn.completeLink(link.id, code: code, apiKey: LinkBench.apiKey)
            }
        }
    }

    private func reason(_ outcome: SignInOutcome) -> String {
        switch outcome {
        case .failed(let failure, _, _): failure.code.rawValue
        default: "ok"
        }
    }
}
