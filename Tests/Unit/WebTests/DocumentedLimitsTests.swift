import Foundation
import Testing

@testable import Accounts
@testable import Web

/// `docs/operate/limits.md` says what the code does.
@Suite struct DocumentedLimitsTests {
    static let limits: [(row: String, values: [Int])] = [
        ("`return_to`", [ReturnTargets.maximumLength]), ("`error_return`", [ReturnTargets.maximumErrorReturnLength]),
        ("`state` and `nonce`", [ValidatedAuthorizeRequest.maximumOpaque]),
        ("an application's whole request", [BodyLimit.authorize]),
        ("requests of applications that are longer", [ReturnTargets.maximumAuthorizeLength]),
        ("an application's redirect and logout URIs", [ClientRules.uriLimit, ClientRules.listLimit]),
        ("the name of an application", [ClientRules.nameLimit]),
        ("a group", [UserLimits.groupName, UserLimits.groups]),
        ("an external ID", [UserLimits.externalID]), ("a page of the API's lists", [UserLimits.pageSize]),
        ("a file of access rules", [AccessRulesFile.maximumBytes, AccessRulesFile.maximumRules]),
        ("`site.logoFile`", [SiteLogo.maximumBytes]),
        ("an app's authorization code", [JSONBody.maximumCodeSize, JSONBody.maximumTokenSize]),
    ]

    @Test("each fixed limit is documented with the code's number", arguments: limits)
    func isDocumented(row: String, values: [Int]) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../../docs/operate/limits.md")
        let text = try String(contentsOf: root, encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("- \(row)") })
        for value in values {
            #expect(line.contains(value.formatted(.number.locale(Locale(identifier: "en_US")))), "\(row): \(value)")
        }
    }
}
