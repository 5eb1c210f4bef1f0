extension ConfigurationTable {
    static let assertionKeys: [ConfigurationKey] = [
        ConfigurationKey(
            name: "assertion.audience", type: .text, presence: .optional,
            meaning: """
                Turns on signed assertions for backends, and is their `aud`: a name or address of the backends that \
                read them, such as `https://api.example.com`. See [assertion.md](assertion.md).
                """)
    ]
}
