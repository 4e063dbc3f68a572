import JostleMessages
import MotionCore
import Testing

@testable import jostle_swarm

/// Requirement: the deadlines of many boards are found in order, whatever changes.
@Suite struct DeadlineHeapTests {
    private func time(_ seconds: Double) -> Timestamp { Timestamp(seconds: seconds) }

    @Test func findsEarliestAfterEveryChange() throws {
        var heap = DeadlineHeap()
        var expected: [Int: Timestamp] = [:]
        var generator = SplitMix64(seed: 7)
        for _ in 0..<5000 {
            let member = Int.random(in: 0..<60, using: &generator)
            let deadline: Timestamp? =
                Int.random(in: 0..<4, using: &generator) == 0
                ? nil : Timestamp(nanoseconds: Int64.random(in: 0..<50, using: &generator))
            heap.set(deadline, of: member)
            expected[member] = deadline
            #expect(heap.first?.deadline == expected.values.min())
            if let first = heap.first { #expect(expected[first.member] == first.deadline) }
        }
    }

    @Test func emptiesInOrder() {
        var heap = DeadlineHeap()
        for (member, seconds) in [5.0, -3, 8, 1, 7, 2, -6].enumerated() { heap.set(time(seconds), of: member) }
        var order: [Int] = []
        while let first = heap.first {
            order.append(first.member)
            heap.set(nil, of: first.member)
        }
        #expect(order == [6, 1, 3, 5, 0, 4, 2])
        heap.set(nil, of: 3)
        #expect(heap.first == nil)
    }
}

/// Requirement: the quantiles of many durations are known without keeping them.
@Suite struct DurationHistogramTests {
    @Test func quantilesAreAtMostOneClassTooLong() throws {
        var histogram = DurationHistogram()
        #expect(histogram.quantile(0.5) == nil)
        for milliseconds in 1...1000 { histogram.add(Double(milliseconds) * 1e-3) }
        #expect(histogram.count == 1000)
        #expect(abs(histogram.sum - 500.5) < 1e-6)
        for fraction in [0.1, 0.5, 0.95] {
            let quantile = try #require(histogram.quantile(fraction))
            #expect(quantile >= fraction && quantile <= fraction * 1.19)
        }
        #expect(histogram.quantile(1) == 1)
    }

    @Test func sumOfTwoHasBoth() throws {
        var one = DurationHistogram()
        one.add(0.001)
        var other = DurationHistogram()
        for _ in 0..<3 { other.add(2) }
        one.add(other)
        #expect(one.count == 4)
        #expect(one.longest == 2)
        #expect(try #require(one.quantile(0.25)) < 0.0012)
        #expect(one.quantile(0.5) == 2)
        #expect(one.json.description.contains(#""counts":[1,3]"#))
    }

    @Test func extremesFallIntoTheOutermostClasses() {
        var histogram = DurationHistogram()
        for seconds in [-1, 0, 1e-9, 1e9] { histogram.add(seconds) }
        #expect(histogram.count == 4)
        #expect(histogram.longest == 1e9)
    }
}

/// Requirement: a seed repeats all random choices, and one source of them does not influence another.
@Suite struct SwarmChanceTests {
    @Test func generatorGivesPublishedSequence() {
        // The first numbers of the reference implementation (prng.di.unimi.it/splitmix64.c) for the seed 1234567.
        var generator = SplitMix64(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }

    @Test func seedRepeatsChoices() {
        var one = SwarmChance(seed: 5, stream: 1)
        var other = SwarmChance(seed: 5, stream: 1)
        let candidates = Array(100..<200)
        let chosen = one.choose(10, of: candidates)
        let repeated = other.choose(10, of: candidates)
        #expect(chosen == repeated)
        #expect(Set(chosen).count == 10)
        #expect(chosen.allSatisfy(candidates.contains))
        for (seed, stream) in [(6, 1), (5, 2)] as [(UInt64, UInt64)] {
            var different = SwarmChance(seed: seed, stream: stream)
            let others = different.choose(10, of: candidates)
            #expect(chosen != others)
        }
    }

    @Test func choosesAllIfThereAreFewer() {
        var chance = SwarmChance(seed: 1, stream: 1)
        let all = chance.choose(9, of: [4, 6, 8]).sorted()
        #expect(all == [4, 6, 8])
    }

    @Test func scheduleKeepsItsRateAndRepeats() throws {
        let start = Timestamp(seconds: 1000)
        func deaths(seed: UInt64) -> [Int] {
            var schedule = SwarmSchedule(perMinute: 30, seed: seed, stream: 2, from: start)
            var boards: [Int] = []
            for second in 0..<6000 {
                let now = start.advanced(bySeconds: Double(second))
                while let board = schedule.takeDue(at: now, { $0.choose(below: 50) }) { boards.append(board) }
            }
            return boards
        }
        let first = deaths(seed: 3)
        // 3,000 are expected; the standard deviation is 55.
        #expect((2700...3300).contains(first.count))
        #expect(Set(first) == Set(0..<50))
        #expect(first == deaths(seed: 3))
        #expect(first != deaths(seed: 4))
    }

    @Test func rateOfZeroMeansNone() {
        var schedule = SwarmSchedule(perMinute: 0, seed: 1, stream: 2, from: Timestamp(seconds: 0))
        #expect(schedule.next == nil)
        let none = schedule.takeDue(at: Timestamp(seconds: 1e6)) { $0.choose(below: 3) }
        #expect(none == nil)
    }
}

/// Requirement: the sensor of a board counts samples until it dies.
@Suite struct SwarmSensorTests {
    @Test func countsUntilItDies() {
        let start = Timestamp(seconds: 10)
        var sensor = SwarmSensor(rate: 200, isDead: false, at: start)
        #expect(sensor.samples(at: start.advanced(bySeconds: 3)) == 600)
        #expect(sensor.status(at: start.advanced(bySeconds: 3)).state == .streaming)
        sensor.die(at: start.advanced(bySeconds: 4))
        sensor.die(at: start.advanced(bySeconds: 5))
        #expect(sensor.samples(at: start.advanced(bySeconds: 9)) == 800)
        #expect(sensor.status(at: start.advanced(bySeconds: 9)).state == .recovering)
    }

    @Test func deadSensorDeliversNothingAfterRestart() {
        let sensor = SwarmSensor(rate: 200, isDead: true, at: Timestamp(seconds: 10))
        #expect(sensor.samples(at: Timestamp(seconds: 99)) == 0)
    }
}
