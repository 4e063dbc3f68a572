/// The delays between connection attempts.
///
/// Two requirements are opposed to each other. A single board must be back soon after its broker, however long the
/// broker was away, and a thousand boards must not come back at the same moment. A board cannot know whether it is
/// alone. So whatever it does, a thousand boards are back within the time that is allowed to one, and the best that can
/// be done is to spread them evenly over that time: the `base`.
///
/// - The first delay after the loss of a connection is random within the base. It decides at which moment in every
///   period this client tries.
/// - While nobody accepts a TCP connection (refused, no route, no name, no answer), an attempt costs next to nothing, and
///   the client keeps trying with the base as its period. That keeps the clients as evenly spread as the first delay has
///   made them, for minutes or days. A probe before the actual attempt, or a further random delay after it, would make
///   the waiting time of a single client longer, or the spread less even.
/// - When the broker accepts a TCP connection and the attempt then fails, the broker may be overloaded, or a password
///   wrong; each attempt costs it a handshake. With every round of such failures the random delay's bound doubles, from
///   the base to the cap (full jitter). So if the base is too short for the number of clients, they spread further.
/// - When the client's own network comes back, it tries again within `networkReturn`.
package struct MQTTBackoff: Equatable, Sendable {
    /// The bound of the first delay, and the period of attempts that nobody answers. Default 1.7 s.
    ///
    /// A larger value spreads many clients further apart; a smaller one reconnects earlier. With the default, a client is
    /// back within 2 s of its broker, with 0.3 s for the handshake, and of many clients about 60 in 100 come back within
    /// the same second.
    package var base: Duration = .milliseconds(1700)

    /// The largest bound. Default 60 s.
    package var cap: Duration = .seconds(60)

    /// The longest delay after `MQTTFailure.unreadable`, as a multiple of the cap. Default 60: an hour with the
    /// default cap, a quarter of an hour with one of 15 s.
    ///
    /// Each such failure leaks memory: a few kilobytes, and about 170 with TLS. A larger factor saves memory; a smaller
    /// one reconnects earlier to a broker that has been repaired.
    package var unreadableFactor = 60

    /// The longest delay after another client took over the session, as a multiple of the cap. Default 1.
    ///
    /// Two clients with the same id end each other's connections for ever. The one with the larger factor leaves the
    /// connection to the other one.
    package var takeoverFactor = 1

    /// How long a connection must last for the delays to start over with the first bound. Default 10 s.
    package var stableAfter: Duration = .seconds(10)

    /// The bound of the random delay after this host's network came back. Default 100 ms. A larger value spreads
    /// clients on the same switch further apart.
    package var networkReturn: Duration = .milliseconds(100)

    /// Creates the default backoff.
    package init() {}

    /// The delay after a failure that follows `rounds` complete rounds of failures that cost the broker something.
    func delay(
        afterRounds rounds: Int, capFactor: Int = 1, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // 2^30 s are 34 years, so any cap is reached and nothing overflows.
        let bound = min(cap * capFactor, base * (1 << min(max(rounds, 0), 30)))
        return bound * fraction(&generator)
    }

    /// The delay after another attempt that nobody answered. Each of the brokers is tried once in a period.
    func period(brokers: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        // A little random, so that clients that happen to be in step do not stay so.
        base / max(brokers, 1) * (0.9 + 0.1 * fraction(&generator))
    }

    /// The delay after this host's network came back.
    func returnDelay(using generator: inout some RandomNumberGenerator) -> Duration {
        networkReturn * fraction(&generator)
    }

    /// A delay of at least `minimum` and less than twice that.
    func delay(of minimum: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        minimum * (1 + fraction(&generator))
    }

    /// The upper 53 bits of a random number, as a fraction in [0, 1).
    private func fraction(_ generator: inout some RandomNumberGenerator) -> Double {
        Double(generator.next() >> 11) * 0x1p-53
    }
}
