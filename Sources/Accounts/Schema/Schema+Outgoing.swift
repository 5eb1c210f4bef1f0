import Storage

// Where this server may be made to send requests.
extension Schema {
    static let outgoing = SchemaStep(
        name: "0032-outgoing", admits: "0026-operator",
        sql: """
            -- Whether back_channel_logout_uri came by the API: then inside addresses are not called.
            ALTER TABLE openid_client ADD COLUMN back_channel_public_only INTEGER NOT NULL DEFAULT 0;

            """)
}
