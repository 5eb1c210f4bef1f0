package import Coding
package import Crypto
package import Logging

/// What every part of a program runs with: time, chance, and where it says what happens. A test replaces any of them.
package struct Runtime: Sendable {
    package var clock: any WallClock
    package var random: any RandomSource
    package var logger: Logger

    package init(clock: any WallClock, random: any RandomSource, logger: Logger) {
        self.clock = clock
        self.random = random
        self.logger = logger
    }
}
