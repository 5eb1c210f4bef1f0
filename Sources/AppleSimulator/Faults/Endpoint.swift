/// The endpoints that are counted and can be made to fail.
enum Endpoint: String, Sendable, CaseIterable {
    case configuration, authorize, token, keys, revoke, usermigrationinfo, script, button
}
