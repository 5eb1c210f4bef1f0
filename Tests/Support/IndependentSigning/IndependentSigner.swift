internal import ChildProcesses
internal import Foundation
internal import Synchronization

/// Another implementation of JOSE in another process and language (Python's `joserfc` and `cryptography`): what is
/// accepted and refused is not merely what we would have written ourselves.
package final class IndependentSigner: Sendable {
    package static let shared = IndependentSigner()

    /// RSA keys that tests publish.
    package static let firstKey = "T8tIJ1zSrO"
    package static let secondKey = "B9yKx0PqWd"
    /// Never published.
    package static let strangersKey = "strangers1"

    /// Nil when it could not be started. Held from a question to its answer.
    private let program: Mutex<SpawnedProgram?>

    private init() {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "independent-signer.py").path
        program = Mutex(try? SpawnedProgram(["python3", "-u", script], input: .pipe, output: .pipe))
    }

    /// Asks for one operation of `independent-signer.py` and waits, blocking the thread.
    package func ask(_ question: [String: String]) throws -> String {
        var line = try JSONEncoder().encode(question)
        line.append(0x0A)
        return try program.withLock { program in
            guard let input = program?.input, let output = program?.output else {
                throw SignerError(text: "python3 with joserfc and cryptography is needed")
            }
            try input.write(Array(line))
            var answer = Data()
            while answer.last != 0x0A {
                let more = output.next()
                guard !more.isEmpty else { throw SignerError(text: "the signer ended: is joserfc installed?") }
                answer.append(contentsOf: more)
            }
            let reply = try JSONDecoder().decode([String: String].self, from: answer)
            if let error = reply["error"] { throw SignerError(text: error) }
            return reply["answer"] ?? ""
        }
    }

    private struct SignerError: Error {
        var text: String
    }
}
