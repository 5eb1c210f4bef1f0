import Coding

@testable import Accounts

extension FuzzTarget {
    /// A client's metadata document: what is accepted is its own, safe to show, and leads to https or this machine.
    static let clientDocument = FuzzTarget(name: "client-document", maximumLength: 2_048) { input throws(Finding) in
        let url = "https://app.example/client.json"
        guard let document = try? ClientDocument(input, at: url) else { return nil }
        let object = (try? JSONReader.parse(input))?.objectValue
        try hold(object?["client_id"]?.stringValue?.isExactly(url) == true, "another client_id")
        try hold(object?["client_secret"] == nil, "a secret")
        try hold(PlainLine.acceptsName(document.name, maximum: ClientRules.nameLimit), "a name that is no plain line")
        try hold(!document.redirectURIs.isEmpty, "nowhere to answer")
        for uri in document.redirectURIs {
            let isSafe = ["https://", "http://localhost", "http://127.0.0.1", "http://[::1]"].contains {
                uri.hasPrefix($0)
            }
            try hold(isSafe && uri.isVisibleASCII && !uri.contains("#"), "leads to \(uri)")
        }
        return input
    }
}
