import Coding
import Crypto
import Gates
import LogRecording
import Storage
import Testing

@testable import Accounts

/// Each attack on links by its name, and why it comes to nothing.
@Suite struct LinkAttackTests {
    /// The attacker begins a link to their own account, authorizes nothing, and sends its page to a victim, who signs in
    /// with Apple there. The code goes with the victim's browser to the application, where the victim is signed in, not
    /// the attacker: the backend does not complete it. Without the code nobody can.
    @Test func forcedLinking() async throws {
        let bench = try LinkBench()
        let link = try await bench.link("attackers-account")
        let victim = BrowserBinding.make(random: SystemRandom())
        let attempt = try await bench.begin(link, victim)
        guard case .linkAuthorized(let location) = await bench.post(bench.form(attempt, "victim"), victim) else {
            throw LinkBench.Unexpected()
        }
        #expect(location.hasPrefix("https://app.example.com/linked"))
        // All the attacker knows is the id and, in the worst case, the ticket.
        for guess in ["", link.ticket.reveal(), link.id.rawValue, link.nonce] {
            #expect(
                await reason {
                    _ = try await bench.signIn.completeLink(link.id, code: guess, apiKey: LinkBench.apiKey)
                }
                    == "code_invalid")
        }
        let stolen = await reason {
            _ = try await bench.signIn.authorizeLink(
                link.id, ticket: link.ticket, bench.request(link.nonce, "attacker", code: "code-a"),
                device: bench.device)
        }
        #expect(stolen == "replayed")
        #expect(try await bench.user("attackers-account") == nil)
        #expect(try await bench.database.user(team: Bench.team, subject: AppleSubject("victim")) == nil)
    }

    /// The other way round: the attacker's Apple identity at the victim's link. Apple's answer belongs to the browser
    /// whose attempt it was, and the attacker's browser cannot post into the victim's.
    @Test func forcedAnswer() async throws {
        let bench = try LinkBench()
        let link = try await bench.link("victims-account")
        let attacker = BrowserBinding.make(random: SystemRandom())
        let attempt = try await bench.begin(link, attacker)
        guard case .failed(Failure(.wrongBrowser), _, _?) = await bench.post(bench.form(attempt, "attacker"))
        else { throw LinkBench.Unexpected() }
        #expect(try await bench.row(link.id).state == .open)
        #expect(bench.apple.exchanged.isEmpty)
    }

    /// The attacker has got hold of the address of the victim's link, and would put his own Apple Account into it, and
    /// have the victim's browser bring the code: the application would see its own user, who did begin that link.
    @Test func stolenAddress() async throws {
        let bench = try LinkBench()
        let link = try await bench.link("victims-account")
        let attempt = try await bench.begin(link)
        let attacker = BrowserBinding.make(random: SystemRandom())
        for _ in 0..<2 {
            let refusal = await reason { _ = try await bench.begin(link, attacker) }
            #expect(refusal == "wrong_browser")
        }
        // The victim goes on, with as many pages as it takes.
        _ = try await bench.begin(link)
        guard case .linkAuthorized = await bench.post(bench.form(attempt, "victim")) else {
            throw LinkBench.Unexpected()
        }
        let late = await reason { _ = try await bench.begin(link, attacker) }
        #expect(late == "link_ended")
    }

    /// The attacker reads the log, which names the link before its browser has opened it, and would be first.
    @Test func loggedID() async throws {
        let bench = try LinkBench()
        let link = try await bench.link("victims-account")
        #expect(bench.log.lines.contains { "\($0)".contains(link.id.rawValue) })
        let attacker = BrowserBinding.make(random: SystemRandom())
        let refusal = await reason { _ = try await bench.signIn.beginLink(link.id, binding: attacker) }
        #expect(refusal == "wrong_browser")
        #expect(try await bench.row(link.id).browser == nil)
        // Its own browser is not kept out by that.
        let attempt = try await bench.begin(link)
        guard case .linkAuthorized = await bench.post(bench.form(attempt, "victim")) else {
            throw LinkBench.Unexpected()
        }
    }

    /// A ticket of another link, of a waiting identity, a truncated one: one answer, that of a link there is not.
    @Test func ticketTheft() async throws {
        let bench = try LinkBench()
        let (mine, theirs) = (try await bench.link("mine"), try await bench.link("theirs"))
        for ticket in [mine.ticket, LinkTicket.make(random: SystemRandom())] {
            let failure = await reason {
                _ = try await bench.signIn.authorizeLink(
                    theirs.id, ticket: ticket, bench.request(theirs.nonce), device: bench.device)
            }
            #expect(failure == "link_unknown")
        }
        let unknown: LinkID = RandomIdentifier(random: SystemRandom()).make()
        let failure = await reason {
            _ = try await bench.signIn.authorizeLink(
                unknown, ticket: mine.ticket, bench.request(mine.nonce), device: bench.device)
        }
        #expect(failure == "link_unknown")
        #expect(bench.apple.exchanged.isEmpty)
        // A stolen ticket and the thief's own identity: a code that the thief must bring to the victim's session.
        let code = try await bench.authorize(theirs, "thief")
        #expect(try await bench.user("theirs") == nil)
        #expect(await reason { _ = try await bench.authorize(theirs, "victim") } == "replayed")
        #expect(
            await reason {
                _ = try await bench.signIn.completeLink(mine.id, code: code.reveal(), apiKey: LinkBench.apiKey)
            } == "code_invalid")
    }

    /// Apple's answer to one nonce serves one link, once: not another link, not a second time, not a plain sign-in.
    @Test func replayedNonce() async throws {
        let bench = try LinkBench()
        let (first, second) = (try await bench.link("a"), try await bench.link("b", kind: .upgrade))
        let request = bench.request(first.nonce, code: "code-1")
        let crossed = await reason {
            _ = try await bench.signIn.authorizeLink(second.id, ticket: second.ticket, request, device: bench.device)
        }
        #expect(crossed == "identity_token")
        _ = try await bench.signIn.authorizeLink(first.id, ticket: first.ticket, request, device: bench.device)
        let again = await reason {
            _ = try await bench.signIn.authorizeLink(
                first.id, ticket: first.ticket, bench.request(first.nonce, code: "code-2"), device: bench.device)
        }
        #expect(again == "replayed")
        // A sign-in's challenge is no link's nonce, nor the reverse.
        let challenge = bench.signIn.beginNative()
        let borrowed = await reason {
            _ = try await bench.signIn.authorizeLink(
                second.id, ticket: second.ticket, bench.request(challenge.nonce, code: "code-3"), device: bench.device)
        }
        #expect(borrowed == "identity_token")
        let native = await bench.signIn.completeNative(
            NativeSignInRequest(
                identityToken: request.identityToken, authorizationCode: "code-1", nonce: first.nonce),
            device: bench.device)
        guard case .failed(Failure(.invalidState)) = native else { throw LinkBench.Unexpected() }
        #expect(bench.apple.exchanged == ["code-1"])
    }

    /// A link's answer posted as a sign-in, a sign-in's as a link's: the state says which it is, and nobody changes it.
    @Test func swappedState() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let attempt = try await bench.begin(link)
        var state = Array(attempt.state.utf8)
        for index in stride(from: 0, to: state.count, by: 7) {
            let byte = state[index]
            state[index] = byte == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            var forged = attempt
            forged.state = String(decoding: state, as: UTF8.self)
            guard case .failed(Failure(.invalidState), nil, nil) = await bench.post(bench.form(forged)) else {
                throw LinkBench.Unexpected()
            }
            state[index] = byte
        }
        guard case .signedIn = await bench.signInWithApple("bob") else { throw LinkBench.Unexpected() }
        #expect(try await bench.row(link.id).state == .open)
    }

    /// The identity token of one person beside the code of another: nothing is stored, nothing is linked.
    @Test func swappedIdentities() async throws {
        let bench = try LinkBench()
        let link = try await bench.link()
        let claim = Hexadecimal.encode(SHA256.hash(utf8: link.nonce).bytes)
        let cHash = await reason {
            _ = try await bench.signIn.authorizeLink(
                link.id, ticket: link.ticket,
                LinkRequest(identityToken: "ann|\(claim)|code-1", authorizationCode: "of-bob-1"), device: bench.device)
        }
        #expect(cHash == "identity_token")
        let exchanged = await reason {
            _ = try await bench.signIn.authorizeLink(
                link.id, ticket: link.ticket, bench.request(link.nonce, "ann", code: "of-bob-1"), device: bench.device)
        }
        #expect(exchanged == "token_mismatch")
        #expect(try await bench.row(link.id).state == .open)
        #expect(try bench.dump().isEmpty)
    }

    /// Two links of one account, completed at once at two servers, with two identities or with one: the account is tied
    /// once, to whoever was first. Two of one identity both say so.
    @Test(arguments: [("ann", "eve"), ("ann", "ann")])
    func raceOfTwoLinks(first: String, second: String) async throws {
        for _ in 0..<5 {
            let bench = try LinkBench()
            let other = try bench.beside()
            let (one, two) = (try await bench.link(kind: .upgrade), try await bench.link(kind: .upgrade))
            let codes = (try await bench.authorize(one, first), try await bench.authorize(two, second))
            async let here = reason { _ = try await bench.complete(one, codes.0) }
            async let there = reason { _ = try await other.complete(two, codes.1) }
            let outcomes = await [here, there].sorted()
            let done = try await bench.database.links(in: [.done], after: nil, limit: 10).items.map(\.id)
            if first == second {
                #expect(outcomes == ["ok", "ok"])
                #expect(Set(done) == [one.id, two.id])
            } else {
                #expect(outcomes == ["account-already-linked", "ok"])
                #expect(done.count == 1)
            }
            // Each that was completed is told of, once.
            #expect(try await bench.told().sorted() == done.map { "account.upgraded \($0)" }.sorted())
            let users = try await bench.database.users(UserFilter(), after: nil, limit: 10).items
            #expect(users.map(\.externalID) == ["account-1"])
            other.database.close()
        }
    }

    /// Many links of many identities to one account, all completed at once: one is tied.
    @Test func raceOfManyLinks() async throws {
        let bench = try LinkBench()
        var ready: [(NewLink, LinkCode)] = []
        for number in 0..<12 {
            let link = try await bench.link()
            ready.append((link, try await bench.authorize(link, "p\(number)")))
        }
        let outcomes = await withTaskGroup(of: String.self) { group in
            for (link, code) in ready { group.addTask { await reason { _ = try await bench.complete(link, code) } } }
            return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(outcomes == ["ok": 1, "account-already-linked": 11])
        #expect(try await bench.database.users(UserFilter(), after: nil, limit: 100).items.count == 1)
        #expect(try await bench.events() == ["user.created", "account.linked"])
        // And one identity to many accounts.
        let second = try LinkBench()
        ready = []
        for number in 0..<12 {
            let link = try await second.link("account-\(number)")
            ready.append((link, try await second.authorize(link)))
        }
        let others = await withTaskGroup(of: String.self) { group in
            for (link, code) in ready { group.addTask { await reason { _ = try await second.complete(link, code) } } }
            return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(others == ["ok": 1, "identity-linked-elsewhere": 11])
    }

    /// Whoever holds an API key without `links:replace` takes nobody's account, by a link of either kind.
    @Test func takesNothing() async throws {
        let bench = try LinkBench()
        let owner = try await bench.linked("account-1", "owner")
        guard case .signedIn(_, let session, _) = await bench.signInWithApple("owner") else {
            throw LinkBench.Unexpected()
        }
        let dump = try bench.dump()
        for kind in LinkKind.allCases { #expect(try await bench.failure(kind: kind) == Failure(.accountAlreadyLinked)) }
        #expect(try bench.dump() == dump)
        // With it: the owner keeps their user and loses the account, and with it their sessions.
        let user = try await bench.linked(mayReplace: true)
        #expect(user.externalID == "account-1" && user.id != owner.id)
        #expect(try await bench.database.user(owner.id)?.externalID == nil)
        #expect(try await bench.database.signedIn(token: session.tokenHash, at: bench.now) == nil)
        #expect(
            try await bench.events().suffix(4) == [
                "session.ended replaced", "user.updated externalID", "user.created", "account.linked",
            ])
    }

    /// The refused is over: an identical request is told the same, and a way round there is none.
    @Test func refusalStands() async throws {
        let bench = try LinkBench()
        _ = try await bench.linked("account-1", "owner")
        let link = try await bench.link()
        let code = try await bench.authorize(link)
        for _ in 0..<3 {
            #expect(await reason { _ = try await bench.complete(link, code) } == "account-already-linked")
        }
        #expect(await reason { _ = try await bench.authorize(link) } == "account-already-linked")
        #expect(await reason { _ = try await bench.signIn.link(link.id) } == "account-already-linked")
        #expect(try await bench.row(link.id).sealedIdentity == nil)
    }

    @Test("a person shut out here is not let in by a link", arguments: [User.State.disabled, .pending])
    func shutOut(state: User.State) async throws {
        let bench = try LinkBench(signUp: state == .pending ? .approval : .open)
        _ = await bench.signInWithApple()
        let user = try #require(try await bench.database.user(team: Bench.team, subject: AppleSubject("ann")))
        if state == .disabled {
            _ = try await bench.database.patchUser(user.id, UserPatch(state: state), at: bench.now)
        }
        let expected = "user_\(state.rawValue)"
        for kind in LinkKind.allCases { #expect(try await bench.failure(kind: kind)?.code.rawValue == expected) }
        #expect(try await bench.database.user(user.id)?.externalID == nil)
    }
}
