import Coding
import Crypto
import Stores
import Testing

@testable import Accounts

@Suite("The language of an attempt") struct AttemptLanguageTests {
    private let bench = SignInBench()

    private func begin(_ language: String?, returnTo: String = "/notes") -> Attempt {
        let target = bench.targets.validate(returnTo) ?? bench.targets.defaultTarget
        return bench.signIn.begin(binding: bench.browser, returnTo: target, replacing: nil, language: language)
    }

    @Test("the language is sealed in the state and does not affect the sign-in", arguments: [nil, "ja", "zh-Hans"])
    func comesBack(language: String?) async {
        let form = bench.form(begin(language))
        #expect(bench.receive(form).language == language)
        #expect(await bench.post(form).name == "signedIn")
    }

    @Test("another browser cannot choose an attempt's language")
    func isSealed() {
        let state = begin("ja").state
        let last = state.last == "A" ? "B" : "A"
        for forged in [
            "", "x", String(state.dropLast(4)), String(state.dropLast()) + last, "AAAA" + state.dropFirst(4),
        ] {
            #expect(bench.receive(FormEncoder.encode([("state", forged)])).language == nil)
        }
        let other = SignInBench()
        #expect(other.receive(bench.form(begin("ja"))).language == nil)
    }

    @Test("a state with the longest return target and language opens")
    func fits() async {
        let longest = "/" + String(repeating: "a", count: 1_999)
        let form = bench.form(begin(String(repeating: "a", count: 35), returnTo: longest))
        #expect(bench.receive(form).language?.utf8.count == 35)
        #expect(await bench.post(form).name == "signedIn")
    }

    /// What the release before wrote: version 1, which ends with the return target.
    private func plaintext(version: UInt8, tail: [UInt8]) -> [UInt8] {
        let moment = UInt64(bitPattern: bench.clock.now().milliseconds)
        let target = Array("/notes".utf8)
        return [version] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: moment >> ($0 * 8)) }
            + [UInt8](repeating: 7, count: 32) + bench.browser.hash.bytes + [0] + [0, UInt8(target.count)] + target
            + tail
    }

    @Test(
        "only whole plaintexts of a known version open",
        arguments: [
            (1, [], true), (2, [2, 0x6A, 0x61], true), (2, [0], true), (1, [2, 0x6A, 0x61], false), (2, [], false),
            (2, [2, 0x6A], false), (2, [1, 0x6A, 0x61], false), (0, [], false), (3, [], false), (3, [0], false),
        ] as [(UInt8, [UInt8], Bool)])
    func versions(version: UInt8, tail: [UInt8], opens: Bool) async {
        let hour = UInt32(bench.clock.now().seconds / 3600)
        let sealed = bench.keyring.seal(
            plaintext(version: version, tail: tail), purpose: .attempt(hour: Int64(hour)))
        let state = Base64URL.encode([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: hour >> $0) } + sealed)
        let nonce = Base64URL.encode([UInt8](repeating: 7, count: 32))
        let body = FormEncoder.encode([("state", state), ("code", "c"), ("id_token", "ann|\(nonce)|c")])
        #expect(await bench.post(body).name == (opens ? "signedIn" : "invalid_state"))
    }
}
