import Coding

/// An operation's external input: the time by the simulator's own clock, and randomness.
struct Moment: Sendable {
    /// Milliseconds since 1970, including the offset.
    var milliseconds: Int64
    var randomBytes: @Sendable (Int) -> [UInt8]
    /// `iss` of tokens made now.
    var issuer: String
    /// Accepted `aud` of a client secret.
    var audiences: [String]

    var seconds: Int64 { milliseconds / 1000 }

    /// Opaque, and shaped like Apple's: a letter for the kind, followed by enough randomness.
    func makeToken(_ letter: String) -> String {
        letter + Hexadecimal.encode(randomBytes(16)) + ".0.sim." + Base64URL.encode(randomBytes(16))
    }
}
