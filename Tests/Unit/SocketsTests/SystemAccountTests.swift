import Foundation
import Sockets
import Testing

@Suite struct SystemAccountTests {
    @Test func namesTheUserAndTheSudoUser() throws {
        let name = try #require(SystemAccount.name(of: getuid()))
        #expect(name == NSUserName())
        #expect(SystemAccount.current(sudoUser: nil) == name)
        #expect(SystemAccount.current(sudoUser: "carol") == "\(name) (sudo: carol)")
        #expect(SystemAccount.current(sudoUser: name) == name)
        #expect(SystemAccount.name(of: 3_999_999_999) == nil)
    }

    @Test(
        "Account names with odd characters are left out",
        arguments: ["", "a b", "a\nb", "\u{202E}x", String(repeating: "x", count: 65)])
    func noName(text: String) {
        #expect(SystemAccount.current(sudoUser: text) == SystemAccount.current(sudoUser: nil))
    }
}
