import Coding
import Crypto
import Web

extension ConfigurationBuilder {
    /// Whoever can write the file decides who is admitted; whoever can read it learns little.
    func readRules(_ configuration: inout Configuration) {
        let file = given("forwardAuth.rulesFile") { key, path in
            readFile(key, path, maximumBytes: AccessRulesFile.maximumBytes) { _ in false }
        }
        guard let file, let rules = rules(file.bytes, key: file.key, subject: file.subject) else { return }
        if values.areGood("server.trustedProxies"), configuration.server.trustedProxies.isEmpty {
            values.report(
                file.key, "is given, but no proxy is trusted to tell the original request, so nobody could pass.",
                "Name the proxy in server.trustedProxies.")
        }
        configuration.web.accessRules = rules
        configuration.rulesDigest = SHA256.hash(file.bytes)
    }

    private func rules(_ bytes: [UInt8], key: String, subject: String) -> AccessRules? {
        do throws(AccessRulesFile.Refusal) {
            let rules = try AccessRulesFile.read(bytes)
            for (rule, behind) in rules.unreachable {
                values.problems.add(
                    ConfigurationProblem(
                        .warning, key: key, source: values.source(of: key),
                        fault:
                            "\(subject)rule \(rule + 1) is never reached: rule \(behind + 1) matches everything first.",
                        remedy: "Put it first, or remove it; the first matching rule decides."))
            }
            return rules
        } catch {
            switch error {
            case .json(let flaw):
                let place = TextPosition(of: flaw.offset, in: bytes)
                values.fail(
                    key, "\(subject)line \(place.line), column \(place.column): \(flaw.reason.rawValue).",
                    "Write JSON as docs/proxies/rules.md shows.")
            case .problems(let problems):
                for problem in problems {
                    let place = problem.place.isEmpty ? "" : "\(problem.place): "
                    values.fail(key, "\(subject)\(place)\(problem.fault)", problem.remedy)
                }
            }
            return nil
        }
    }
}
