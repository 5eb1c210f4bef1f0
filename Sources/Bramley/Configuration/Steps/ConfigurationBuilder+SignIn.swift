import Accounts
import Coding
import Crypto
import Web

// `login` and `sessions`, where keys depend on each other.
extension ConfigurationBuilder {
    func completeLogin(_ configuration: inout Configuration) {
        let key = "login.defaultReturnTo"
        // A given target may be anywhere on the host; the account page is below the path of publicURL.
        if !isGiven(key) {
            configuration.web.login.defaultReturnTo =
                configuration.web.publicURL.basePath + configuration.web.login.defaultReturnTo
        }
        if areGood(key) { checkReturnTarget(configuration.web.login, configuration.web.publicURL) }
        if configuration.web.signIn.asksExisting { checkPasswordURL(configuration.web.login) }
    }

    /// People with an account are sent to its sign-in, with a ticket in the query.
    private func checkPasswordURL(_ login: WebConfiguration.Login) {
        guard areGood("login.passwordURL") else { return }
        guard let url = login.passwordURL else {
            return report(
                "login.askExistingAccount", "is true without login.passwordURL, so nobody could be sent there.",
                "Name the application's own sign-in in login.passwordURL, or remove the key.")
        }
        guard !url.contains("#") else {
            return report(
                "login.passwordURL", "has a fragment, so login.askExistingAccount cannot add its ticket.",
                "Remove # and what follows it.")
        }
    }

    private func checkReturnTarget(_ login: WebConfiguration.Login, _ publicURL: PublicURL) {
        let (key, text) = ("login.defaultReturnTo", login.defaultReturnTo)
        if text.hasPrefix("/") {
            if !WebAddress.isPath(text) {
                fail(key, "\(text.quoted) is not a path.", "Write a path such as \"/account\".")
            }
            return
        }
        let bare = String(text.prefix { $0 != "?" && $0 != "#" })
        guard let address = reading(key, bare, { text throws(InputFlaw) in try WebAddress.read(text) }),
            areGood("publicURL", "login.allowedReturnOrigins"), address.origin != publicURL.origin,
            !login.allowedReturnOrigins.contains(address.origin)
        else { return }
        fail(
            key, "leads to \(address.origin.quoted), which is not an allowed origin.",
            "Add that origin to login.allowedReturnOrigins, or write a path.")
    }

    func checkSessions(_ configuration: inout Configuration) {
        let (lifetime, idle) = (
            configuration.web.sessionLimits.lifetime, configuration.web.sessionLimits.idleTimeout
        )
        if let domain = configuration.web.cookieDomain {
            checkCookieDomain(domain, configuration.web.publicURL)
        }
        guard areGood("sessions.lifetime", "sessions.idleTimeout"), idle > lifetime else { return }
        // A shorter lifetime alone is not a mistake: then the default idle timeout never applies first.
        configuration.web.sessionLimits.idleTimeout = lifetime
        if isGiven("sessions.idleTimeout") {
            report(
                "sessions.idleTimeout", "is \(idle), longer than sessions.lifetime, \(lifetime).",
                "Write at most \(lifetime), or raise sessions.lifetime.")
        }
    }

    private func checkCookieDomain(_ domain: String, _ publicURL: PublicURL) {
        let key = "sessions.cookieDomain"
        if domain.hasPrefix(".") {
            fail(key, "begins with a dot.", "Write \(String(domain.drop { $0 == "." }).quoted), without it.")
        } else if WebAddress.isPublicSuffix(domain) {
            fail(
                key, "is \(domain.quoted), which many owners share: browsers refuse such a cookie.",
                "Write your own domain below it, or remove the key.")
        } else if !areGood("publicURL") {
            return
        } else if publicURL.isIPAddress || publicURL.host != domain && !publicURL.host.hasSuffix("." + domain) {
            fail(
                key, "is \(domain.quoted), but publicURL's host is \(publicURL.host.quoted).",
                "Write that host or a parent domain of it; for an IP address, remove the key.")
        } else if !publicURL.isSecure {
            fail(key, "needs https.", "Remove the key, or begin publicURL with https://.")
        }
    }
}

// `forwardAuth`.
extension ConfigurationBuilder {
    /// Whoever can write the file decides who is admitted; whoever can read it learns little.
    func readRules(_ configuration: inout Configuration) {
        let file = given("forwardAuth.rulesFile") { key, path in
            readFile(key, path, maximumBytes: AccessRulesFile.maximumBytes) { _ in false }
        }
        guard let file, let rules = rules(file.bytes, key: file.key, subject: file.subject) else { return }
        if areGood("server.trustedProxies"), configuration.server.trustedProxies.isEmpty {
            report(
                file.key, "is given, but no proxy is trusted to report the original request, so nobody could pass.",
                "Name the proxy in server.trustedProxies.")
        }
        configuration.web.accessRules = rules
        configuration.rulesDigest = SHA256.hash(file.bytes)
    }

    private func rules(_ bytes: [UInt8], key: String, subject: String) -> AccessRules? {
        do throws(AccessRulesFile.Refusal) {
            let rules = try AccessRulesFile.read(bytes)
            for (rule, behind) in rules.unreachable {
                warn(
                    key, "\(subject)rule \(rule + 1) is never reached: rule \(behind + 1) matches everything first.",
                    "Put it first, or remove it; the first matching rule decides.")
            }
            return rules
        } catch {
            switch error {
            case .json(let flaw):
                fail(
                    key, "\(subject)\(flaw.place(in: bytes)): \(flaw.reason.rawValue).",
                    "Write JSON as docs/sites/rules.md shows.")
            case .problems(let problems):
                for problem in problems {
                    let place = problem.place.isEmpty ? "" : "\(problem.place): "
                    fail(key, "\(subject)\(place)\(problem.fault)", problem.remedy)
                }
            }
            return nil
        }
    }
}
