import Coding
import Crypto
import Storage

/// What becomes of a grant.
package enum GrantChange: Hashable, Sendable {
    case keep
    case replace(Grant)
    /// It and all its tokens end.
    case end
}
