import Coding
import Crypto
import HTTP
import Web

extension ConfigurationBuilder {
    func forwardAuth(_ server: Configuration.Server?) -> Configuration.ForwardAuth? {
        let style = values.choice("forwardAuth.style", OriginalRequest.Style.self)
        let file = values.text("forwardAuth.rulesFile")
        let inline = values.text("forwardAuth.rules")
        guard let style, !refuseTwins("forwardAuth.rulesFile", "forwardAuth.rules") else { return nil }
        let key = values.isGiven("forwardAuth.rules") ? "forwardAuth.rules" : "forwardAuth.rulesFile"
        guard values.isGiven(key) else { return Configuration.ForwardAuth(style: style, rules: nil, digest: nil) }
        guard let bytes = inline.map({ Array($0.utf8) }) ?? file.flatMap(readRules),
            let rules = rules(bytes, key: key, subject: inline == nil ? "\((file ?? "").quoted) " : "")
        else { return nil }
        if let server, server.trustedProxies.isEmpty {
            values.fail(
                key, "is given, but no proxy is trusted to say what was asked for, so that nobody would be let in.",
                "Name the proxy in server.trustedProxies.")
            return nil
        }
        return Configuration.ForwardAuth(style: style, rules: rules, digest: SHA256.hash(bytes))
    }

    /// Whoever can write the file decides who comes in; whoever can read it learns little.
    private func readRules(_ path: String) -> [UInt8]? {
        let key = "forwardAuth.rulesFile"
        do throws(GuardedFile.Failure) {
            let file = try GuardedFile.read(path, maximumBytes: AccessRulesFile.maximumBytes)
            if file.isWritableByOthers {
                values.fail(key, "\(path.quoted) can be changed by other users.", "Run: chmod go-w \(path)")
                return nil
            }
            return file.bytes
        } catch {
            values.fail(key, "\(path.quoted) \(error.fault)", error.remedy(for: path))
            return nil
        }
    }

    private func rules(_ bytes: [UInt8], key: String, subject: String) -> AccessRules? {
        do throws(AccessRulesFile.Refusal) {
            let rules = try AccessRulesFile.read(bytes)
            for (rule, behind) in rules.unreachable {
                values.problems.add(
                    ConfigurationProblem(
                        .warning, key: key, source: values.source(of: key),
                        fault: "\(subject)rule \(rule + 1) is never reached: rule \(behind + 1) takes all of it.",
                        remedy: "Put it first, or remove it; the first rule that fits decides."))
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
