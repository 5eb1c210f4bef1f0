extension ConfigurationTable {
    static let assertionKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "assertion.audience", type: .list, presence: .list([]), acceptsOneText: true,
            example: "\"https://api.example.com\", or several in square brackets",
            meaning: """
                Turns on signed assertions for backends, and is their `aud`: a name or address of the backends that \
                read them, such as `https://api.example.com`. Of several, each is asked for by its name. See \
                [assertion.md](assertion.md).
                """),
        ConfigurationKey(
            name: "assertion.rs256Audiences", type: .list, presence: .list([]),
            meaning: """
                Those of `assertion.audience` whose assertions are signed with RS256 instead of ES256: for gateways \
                that know no other.
                """),
    ]
}
