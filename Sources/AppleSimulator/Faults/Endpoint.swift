/// The endpoints that are counted, and that can be made to fail.
enum Endpoint: String, Sendable, CaseIterable {
    case configuration, authorize, token, keys, revoke, usermigrationinfo, script, button
}
