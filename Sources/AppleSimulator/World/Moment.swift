/// What an operation needs from outside: the time by the simulator's own clock, and randomness.
struct Moment: Sendable {
    /// Milliseconds since 1970, offset included.
    var milliseconds: Int64
    var randomness: any Randomness
    /// `iss` of tokens made now.
    var issuer: String
    /// What `aud` of a client secret may be.
    var audiences: [String]

    var seconds: Int64 { milliseconds / 1000 }

    /// Opaque, and shaped like Apple's: a letter for the kind, then enough randomness.
    func makeToken(_ letter: String) -> String {
        letter + OpenSSLHash.hexadecimal(randomness.bytes(16)) + ".0.sim." + Base64URL.encode(randomness.bytes(16))
    }
}
