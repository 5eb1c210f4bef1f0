internal import Coding
internal import Crypto
internal import HTTP
internal import HTTPTypes
internal import RelyingParty

/// Asks the application's verifier about an account that cannot exist: once signed with a key nobody has, once with
/// ours. No person's account is tried.
struct VerifierExamination: Sendable {
    let upgrade: Configuration.Upgrade
    let transport: any HTTPTransport
    let clock: any WallClock
    let random: any RandomSource

    func run() async -> [Diagnosis] {
        guard let url = ClientURL(upgrade.verifierURL), let secrets = secrets(),
            let stranger = WebhookSecret(parsing: WebhookSecret.prefix + Base64.encode(random.bytes(32)))
        else { return [] }
        let forged: ClientResponse
        do throws(HTTPClientError) {
            forged = try await transport.send(question(to: url, signedBy: WebhookSecrets(stranger)))
        } catch {
            return [unreachable(error)]
        }
        // Whatever it says about the account, it has checked a password that anybody may have sent.
        if (200...299).contains(forged.status.code) {
            return [
                .wrong(
                    .verifierCredulous,
                    "\(upgrade.verifierURL) answers a question that is not signed by us with status "
                        + "\(forged.status.code).",
                    next: "Let it check webhook-signature and webhook-timestamp before anything else, by a library of "
                        + "Standard Webhooks, and answer 401 when they do not hold. Until then anybody can try passwords "
                        + "there, and drop them.")
            ]
        }
        return [await signed(to: url, by: secrets)]
    }

    private func signed(to url: ClientURL, by secrets: WebhookSecrets) async -> Diagnosis {
        let response: ClientResponse
        do throws(HTTPClientError) {
            response = try await transport.send(question(to: url, signedBy: secrets))
        } catch {
            return unreachable(error)
        }
        if [400, 401, 403].contains(response.status.code) {
            return .wrong(
                .verifierRefuses,
                "\(upgrade.verifierURL) refuses our signature: status \(response.status.code).",
                next: "Give the application the secret of upgrade.secretFile. If it has it: compare the clocks of both "
                    + "machines, and let nothing on the way change the body.")
        }
        let answer: VerifierAnswer
        do throws(VerifierFailure) {
            answer = try VerifierReading.answer(in: response)
        } catch {
            return .wrong(
                .verifierUnusable, "\(upgrade.verifierURL) gives no answer that counts: \(error.detail).",
                next:
                    "Let upgrade.verifierURL be its final address, and let it answer status 200 with JSON whose result "
                    + "is success, twoFactorAuthRequired or failure.")
        }
        guard case .failure = answer else {
            return .wrong(
                .verifierUnusable, "\(upgrade.verifierURL) knows an account that cannot be there, and its password.",
                next: "Look who answers there: it must answer failure for a name or a password it does not know.")
        }
        return .good(
            .verifier,
            "\(upgrade.verifierURL) knows our signature, refuses another one, and an account there is none of.")
    }

    private func unreachable(_ error: HTTPClientError) -> Diagnosis {
        if case .tls(let cause) = error {
            return .wrong(
                .verifierTLS, "\(upgrade.verifierURL) answers with TLS this machine does not believe: \(cause).",
                next:
                    "Use a certificate this machine knows the authority of, with the intermediates behind it, for the "
                    + "name in upgrade.verifierURL. No password is sent until then.")
        }
        return .wrong(
            .verifierUnreachable, "\(upgrade.verifierURL) does not answer: \(error.words).",
            next: "Start the application; look at its name, its port and the firewall from this machine. Nobody can "
                + "upgrade until then, and conversions wait.")
    }

    /// A different name and password each time, in a domain that nobody can have (RFC 2606 §2).
    private func question(to url: ClientURL, signedBy secrets: WebhookSecrets) -> ClientRequest {
        let word: VerifierMessageID = RandomIdentifier(random: random).make()
        var password = Array(RandomIdentifier(random: random).make(VerifierMessageID.self).rawValue.utf8)
        let question =
            VerifierQuestion.verify(
                username: "bramley-doctor-\(word.rawValue.dropFirst(4))@doctor.invalid",
                password: Password(consuming: &password)) ?? SecretBytes([])
        return VerifierQuestion.request(question, id: word.rawValue, to: url, signedBy: secrets, at: clock.now())
    }

    /// Nil when they no longer exist: the check of the configuration read them a moment ago.
    private func secrets() -> WebhookSecrets? {
        switch upgrade.secrets {
        case .inline(let secrets): secrets
        case .file(let path): try? WebhookSecretFile.read(path)
        }
    }
}
