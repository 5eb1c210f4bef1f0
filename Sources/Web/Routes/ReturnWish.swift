import Coding
import RelyingParty

/// A validated `return_to`: as it came, to be carried on, and where it leads.
struct ReturnWish: Sendable {
    /// Nil when nothing was asked for.
    var text: String?
    var target: ReturnTarget

    /// - Throws: when it is given twice, or names nothing of ours.
    init(_ query: Query, among targets: ReturnTargets) throws(WebFailure) {
        switch query.value("return_to") {
        case .absent, .one(""): (text, target) = (nil, targets.defaultTarget)
        case .several: throw .badRequest("several return_to")
        case .one(let text):
            guard let target = targets.validate(text) else { throw .returnToRefused }
            (self.text, self.target) = (text, target)
        }
    }

    /// `return_to=…`, also without a target: what pages hand on.
    var query: String { "return_to=" + PercentEncoding.encodeComponent(text ?? "") }
}
