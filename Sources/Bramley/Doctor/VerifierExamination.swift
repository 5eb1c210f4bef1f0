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
            let stranger = try? WebhookSecret(parsing: WebhookSecret.prefix + Base64.encode(random.bytes(32)))
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
                    "\(upgrade.verifierURL) answers a request without our signature with status "
                        + "\(forged.status.code).",
                    next: "It must check webhook-signature and webhook-timestamp first, for example with a library for "
                        + "Standard Webhooks, and answer 401 if they are wrong. Until then anybody can try passwords "
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
                next: "Give the application the secret of upgrade.secretFile. If it has it, compare the clocks of both "
                    + "machines, and make sure that nothing in between changes the body.")
        }
        let answer: VerifierAnswer
        do throws(VerifierFailure) {
            answer = try VerifierReading.answer(in: response)
        } catch {
            return .wrong(
                .verifierUnusable, "\(upgrade.verifierURL) gives no valid answer: \(error.detail).",
                next:
                    "Set upgrade.verifierURL to its final address. It must answer status 200 with JSON whose result is "
                    + "success, twoFactorAuthRequired or failure.")
        }
        guard case .failure = answer else {
            return .wrong(
                .verifierUnusable, "\(upgrade.verifierURL) accepts an account that cannot exist, and its password.",
                next: "Find out what answers there: it must answer failure for an unknown name or a wrong password.")
        }
        return .good(
            .verifier,
            "\(upgrade.verifierURL) accepts our signature, and refuses a wrong signature and an unknown account.")
    }

    private func unreachable(_ error: HTTPClientError) -> Diagnosis {
        if case .tls(let cause) = error {
            return .wrong(
                .verifierTLS, "This machine does not trust the TLS of \(upgrade.verifierURL): \(cause).",
                next:
                    "Use a certificate from an authority that this machine trusts, with its intermediates, for the name "
                    + "in upgrade.verifierURL. No password is sent until then.")
        }
        return .wrong(
            .verifierUnreachable, "\(upgrade.verifierURL) does not answer: \(error.words).",
            next: "Start the application, and check its name, its port and the firewall from this machine. Until then "
                + "nobody can upgrade, and conversions wait.")
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
