import Accounts
import Coding
import HTTP

/// The parameters of a query or a small form.
struct Query: Sendable {
    private let fields: [FormField]
    /// Whether every parameter is included. Otherwise, the absence of a restricting one proves nothing.
    let isWhole: Bool

    /// More than `most` parameters, or 16 KiB of them, are ignored entirely.
    init(_ request: ServerRequest, most: Int = 32) { self.init(Array((request.query ?? "").utf8), most: most) }

    init(_ bytes: [UInt8], most: Int = 32) {
        let parsed = try? FormDecoder.parse(bytes, maximumBytes: 16_384, maximumFields: most)
        fields = parsed ?? []
        isWhole = parsed != nil
    }

    func value(_ name: String) -> NamedValue {
        var found = NamedValue.absent
        for field in fields where field.name.isExactly(name) {
            guard case .absent = found else { return .several }
            found = .one(field.value)
        }
        return found
    }

    func values(_ name: String) -> [String] { fields.filter { $0.name.isExactly(name) }.map(\.value) }

    /// The only value; nil when absent.
    func single(_ name: String) throws(Failure) -> String? {
        switch value(name) {
        case .absent: return nil
        case .one(let text): return text
        case .several: throw .badRequest("\(name) is given more than once")
        }
    }

    /// The same for a parameter that may be empty, which counts as absent.
    func given(_ name: String) throws(Failure) -> String? {
        let text = try single(name)
        return text == "" ? nil : text
    }

    /// The values of names that begin like this.
    func names(beginningWith prefix: String) -> [String] {
        fields.lazy.map(\.name).filter { $0.utf8.starts(with: prefix.utf8) }
    }

    /// Whether the parameter is given exactly once, as `true`.
    func isTrue(_ name: String) -> Bool { value(name) == .one("true") }
}

/// What a request sent under one name, of a parameter or a cookie.
enum NamedValue: Hashable, Sendable {
    case absent
    case one(String)
    /// Repeated: we cannot tell which value is meant.
    case several

    /// The only value; nil for none or several.
    var text: String? { if case .one(let text) = self { text } else { nil } }
}

/// A validated `return_to` and `error_return`: as given, to be passed on, and their targets.
struct RequestedReturn: Sendable {
    /// Nil when none was given.
    var text: String?
    var target: ReturnTarget
    /// Where a sign-in that is cancelled at Apple leads; nil shows a page of ours.
    var errorReturn: ReturnTarget?

    /// What a sign-in that is cancelled leads to; nil: a page of ours.
    var cancelled: String? { (errorReturn ?? target.cancelReturn)?.cancelled }
}

extension RequestedReturn {
    /// - Throws: when one of them is repeated, or is not allowed.
    init(_ query: Query, among targets: ReturnTargets) throws(Failure) {
        text = try query.given("return_to")
        guard let target = text.map({ targets.validate($0) }) ?? targets.defaultTarget else {
            throw Failure(.returnToRefused)
        }
        self.target = target
        if let text = try query.given("error_return") {
            guard let target = targets.validate(errorReturn: text) else { throw Failure(.returnToRefused) }
            // Together they would not fit into a state; an application gets the error anyway.
            errorReturn = self.target.isAuthorizeRequest ? nil : target
        }
    }

    /// `return_to=…`, even without a target, and `error_return=…` if given: what pages pass on.
    static func query(_ returnTo: String?, _ errorReturn: ReturnTarget?) -> String {
        let rest = errorReturn.map { "&error_return=" + PercentEncoding.encodeComponent($0.location) } ?? ""
        return "return_to=" + PercentEncoding.encodeComponent(returnTo ?? "") + rest
    }
}
