internal import Glibc
internal import MotionCore

/// A random source of occurrences, such as deaths: when the next one is, and whom it concerns.
///
/// The same seed gives the same sequence, whatever the time does to the boards.
struct SwarmChance: Equatable, Sendable {
    private var generator: SplitMix64

    /// `stream` tells apart the sources of one seed, so that they do not influence one another.
    init(seed: UInt64, stream: UInt64) {
        var mixer = SplitMix64(seed: seed)
        generator = SplitMix64(seed: mixer.next() ^ (stream &* 0xD1B5_4A32_D192_ED03))
    }

    /// `count` of the candidates, in random order, or all of them if there are fewer.
    mutating func choose(_ count: Int, of candidates: [Int]) -> [Int] {
        var rest = candidates
        let count = min(count, rest.count)
        for index in 0..<count { rest.swapAt(index, Int.random(in: index..<rest.count, using: &generator)) }
        return Array(rest.prefix(count))
    }

    /// One of the numbers below `count`, which must be positive.
    mutating func choose(below count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

    /// A number within bounds.
    mutating func choose(within bounds: ClosedRange<Double>) -> Double {
        bounds.lowerBound + generator.nextFraction() * (bounds.upperBound - bounds.lowerBound)
    }

    /// Seconds until the next of occurrences that are independent of one another, `perMinute` on average.
    mutating func pause(perMinute: Double) -> Double { -log(1 - generator.nextFraction()) * 60 / perMinute }
}

/// Occurrences at random times, `perMinute` on average.
struct SwarmSchedule: Sendable {
    private let perMinute: Double
    private var chance: SwarmChance
    /// When the next one is; `nil` if there are none.
    private(set) var next: Timestamp?

    /// A rate of 0 means none.
    init(perMinute: Double, seed: UInt64, stream: UInt64, from start: Timestamp) {
        self.perMinute = perMinute
        chance = SwarmChance(seed: seed, stream: stream)
        if perMinute > 0 { next = start.advanced(bySeconds: chance.pause(perMinute: perMinute)) }
    }

    /// Takes an occurrence that is due; `nil` if none is. `body` draws whatever else is random about it.
    mutating func takeDue<Result>(at now: Timestamp, _ body: (inout SwarmChance) -> Result) -> Result? {
        guard let due = next, due <= now else { return nil }
        let result = body(&chance)
        next = due.advanced(bySeconds: chance.pause(perMinute: perMinute))
        return result
    }
}

/// A small generator of random numbers that repeats its sequence for the same seed.
///
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17.
struct SplitMix64: RandomNumberGenerator, Equatable, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    /// A fraction in [0, 1), from the upper 53 bits.
    mutating func nextFraction() -> Double { Double(next() >> 11) * 0x1p-53 }
}
