// The client of docs/examples/ios with a script instead of a person: a command a line on standard input, an answer a
// line on standard output. Waits take no time, and are reported.
import BramleyKit
import Foundation

actor Pauses {
    private var seconds: [TimeInterval] = []
    func add(_ pause: TimeInterval) { seconds.append(pause) }
    func taken() -> [TimeInterval] {
        defer { seconds = [] }
        return seconds
    }
}

@main
struct Scripted {
    static func main() async throws {
        guard let server = URL(string: CommandLine.arguments[1]) else { return }
        let pauses = Pauses()
        var client = BramleyClient(server: server)
        client.retries = 2
        client.sleep = { await pauses.add($0) }
        while let line = readLine() {
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            print(words == ["pauses"] ? text(await pauses.taken()) : await answer(to: words, client))
            _ = fflush(nil)
        }
    }

    private static func answer(to words: [String], _ client: BramleyClient) async -> String {
        let content = Data((words.count > 1 ? words[1] : "").utf8)
        do {
            switch words.first {
            case "challenge": return try await client.challenge().nonce
            case "sign-in":
                let request = try JSONDecoder().decode(SignInRequest.self, from: content)
                return text(try await client.signIn(request))
            case "account": return text(try await client.account(token: words[1]))
            case "assertion":
                let words = words[1].split(separator: " ").map(String.init)
                return try await client.assertion(token: words[0], audience: words.count > 1 ? words[1] : nil)
            case "sign-out":
                try await client.signOut(token: words[1])
                return "done"
            case "delete":
                let request = try JSONDecoder().decode([String: String].self, from: content)
                let isTold = try await client.deleteAccount(
                    token: request["token"] ?? "", authorizationCode: request["authorizationCode"] ?? "",
                    nonce: request["nonce"] ?? "")
                return isTold.map { "done, Apple is told: \($0)" } ?? "done before"
            default: return "unknown command"
            }
        } catch let refusal as SignInRefusal {
            return "refused: \(refusal)"
        } catch let problem as Problem {
            return "problem \(problem.status) \(problem.code)"
        } catch {
            return "error"
        }
    }

    private static func text(_ value: some Encodable) -> String {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "error"
    }
}
