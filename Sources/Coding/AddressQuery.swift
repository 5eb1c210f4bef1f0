/// The query of an address.
package enum AddressQuery {
    /// `address` with `query` after its own query, keeping its fragment.
    /// - Parameter query: escaped, not empty.
    package static func append(_ query: String, to address: String) -> String {
        let fragment = address.firstIndex(of: "#") ?? address.endIndex
        let front = address[..<fragment]
        let separator = !front.contains("?") ? "?" : front.hasSuffix("?") || front.hasSuffix("&") ? "" : "&"
        return "\(front)\(separator)\(query)\(address[fragment...])"
    }
}
