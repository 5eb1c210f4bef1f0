// The sample's client with a script in place of a person: a command a line on standard input, an answer a line on
// standard output. Compiled together with docs/examples/ios/BramleyClient.swift.
import Foundation

@main
struct Scripted {
    static func main() async throws {
        guard let server = URL(string: CommandLine.arguments[1]) else { return }
        var client = BramleyClient(server: server)
        client.retries = 2
        while let line = readLine() {
            print(await answer(to: line.split(separator: " ", maxSplits: 1).map(String.init), client))
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
        } catch let problem as Problem {
            return "problem \(problem.status) \(problem.code)"
        } catch {
            return "error \(error)"
        }
    }

    private static func text(_ value: some Encodable) -> String {
        (try? JSONEncoder().encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "error"
    }
}
