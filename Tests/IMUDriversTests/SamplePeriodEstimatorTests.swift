import MotionCore
import Testing

@testable import IMUDrivers

/// A chip with an inaccurate oscillator and a host that reads its FIFO late, as input to the estimator.
private struct SyntheticStream {
    /// The chip's rate with a perfect oscillator, Hz.
    var rate = 200.0
    /// The true period's deviation from the nominal one, parts per million, and its drift per second.
    var deviation = 0.0
    var drift = 0.0
    /// From this sample on, the deviation is another one.
    var stepIndex = Int64.max
    var deviationAfterStep = 0.0
    /// The uniformly distributed lateness of the host's reads, and the duration of the count's transaction, seconds.
    var lateness = 0.003
    /// One in this many reads is `stall` seconds late; zero for none.
    var stallEvery = 0
    var stall = 0.02
    var transaction = 0.0003
    /// Seconds between two reads.
    var interval = 0.02
    /// Whether reads follow the estimate, as the driver's do, or come at a fixed interval.
    var followsEstimate = true
    var seed: UInt64 = 1

    /// The accuracy after the first two seconds, and after one minute.
    struct Outcome {
        var rms = 0.0
        var worst = 0.0
        /// When the period was first known, seconds after the start.
        var settledAfter = Double.infinity
        var periodErrorAfter2Seconds = 0.0
        var periodErrorAfter1Minute = 0.0
        /// When the last timestamp was wrong by more than a quarter of a period, or the period by more than 0.3 %,
        /// s after the start.
        var lastWrong = 0.0
        /// By how much a timestamp was ahead of the host's clock at most, in periods.
        var future = -Double.infinity
        /// Steps between timestamps that were not positive.
        var reversals = 0
        /// The worst step after five seconds, as a ratio of the period.
        var worstStep = 0.0
    }

    private func instant(_ index: Int64) -> Double {
        let before = Double(min(index, stepIndex)) * (1 + deviation * 1e-6)
        let after = Double(max(0, index - min(index, stepIndex))) * (1 + deviationAfterStep * 1e-6)
        let elapsed = (before + after) / rate
        return -0.3 / rate + elapsed + drift * 1e-6 * 0.5 * elapsed * elapsed
    }

    private func period(at index: Int64) -> Double { instant(index + 1) - instant(index) }

    /// Runs for `duration` seconds. At `restartAt` the FIFO is emptied for `outage` seconds.
    func run(
        _ duration: Double, restartAt: Double = .infinity, outage: Double = 0,
        samplesOn: Bool = false, into estimator: inout SamplePeriodEstimator, from start: Double = 0
    ) -> Outcome {
        var outcome = Outcome()
        var random = seed
        func uniform() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(random >> 11) / 9_007_199_254_740_992
        }
        var now = start
        var look = start
        var looks = 0
        var emptied: Int64 = 0
        var newest: Int64 = 0
        var last: Timestamp?
        var lastStamped: Int64 = 0
        var squares = 0.0
        var count = 0.0
        var measuredFrom = start + 2
        while instant(newest + 1) <= now { newest += 1 }
        emptied = newest
        lastStamped = newest
        while now < start + duration {
            if now >= start + restartAt && measuredFrom < start + restartAt {
                now += outage
                look = now
                while instant(newest + 1) <= now { newest += 1 }
                estimator.restart(samplesOn: samplesOn)
                emptied = newest
                lastStamped = newest
                measuredFrom = samplesOn ? now : now + 1
                if samplesOn { outcome.worst = 0 }
            }
            now = max(now, look) + lateness * uniform()
            if stallEvery > 0, Int(uniform() * Double(stallEvery)) == 0 { now += stall }
            let before = now
            while instant(newest + 1) <= before + 0.6 * transaction { newest += 1 }
            now += transaction
            estimator.observe(
                completed: newest - emptied, from: Timestamp(seconds: before), to: Timestamp(seconds: now))
            while lastStamped < newest {
                lastStamped += 1
                let timestamp = estimator.timestamp(ofSample: lastStamped - emptied)
                let error = timestamp.seconds - instant(lastStamped)
                if abs(error) > 0.25 / rate { outcome.lastWrong = now - start }
                if let last {
                    if timestamp <= last { outcome.reversals += 1 }
                    if now > measuredFrom + 3 {
                        let step = timestamp.seconds(since: last) / estimator.period
                        outcome.worstStep = max(outcome.worstStep, abs(step - 1))
                    }
                }
                last = timestamp
                outcome.future = max(outcome.future, (timestamp.seconds - now) * rate)
                guard now > measuredFrom else { continue }
                squares += error * error
                count += 1
                outcome.worst = max(outcome.worst, abs(error))
            }
            if estimator.isSettled { outcome.settledAfter = min(outcome.settledAfter, now - start) }
            let error = (estimator.period / period(at: newest) - 1) * 1e6
            if abs(error) > 3000 { outcome.lastWrong = now - start }
            if now - start < 2 { outcome.periodErrorAfter2Seconds = error }
            if now - start < 60 { outcome.periodErrorAfter1Minute = error }
            looks += 1
            let next = newest + Int64(max(1, (interval * rate).rounded()))
            let aimed = estimator.instant(ofSample: next - emptied).seconds
            look =
                followsEstimate
                ? aimed - StreamLimits.lookAhead(looks, period: 1 / rate) / rate : start + Double(looks) * interval
        }
        outcome.rms = (squares / max(1, count)).squareRoot()
        return outcome
    }

    func run(_ duration: Double) -> Outcome {
        var estimator = SamplePeriodEstimator(nominalPeriod: 1 / rate)
        return run(duration, into: &estimator)
    }
}

/// Requirement: timestamps are the times of measurement, whatever the chip's oscillator and the host's scheduler do.
@Suite struct SamplePeriodEstimatorTests {
    @Test(
        "200 Hz, reads up to 3 ms late: within 0.2 ms RMS, period within 100 ppm after a minute",
        arguments: [-100_000, -50_000, -9_000, -150, 0, 7, 12_000, 50_000, 100_000] as [Double])
    func offsets(deviation: Double) {
        for seed: UInt64 in 1...3 {
            let outcome = SyntheticStream(deviation: deviation, seed: seed).run(70)
            #expect(outcome.rms < 0.0001)
            #expect(outcome.worst < 0.001)
            #expect(abs(outcome.periodErrorAfter2Seconds) < 2000)
            #expect(abs(outcome.periodErrorAfter1Minute) < 10)
            #expect(outcome.future < 0.5)
            #expect(outcome.reversals == 0)
            #expect(outcome.worstStep < 0.06)
        }
    }

    @Test(
        "200 Hz, reads up to 3 ms late, one in fifty 20 ms: within 0.2 ms RMS from 2 s on, 100 ppm after a minute",
        arguments: [-50_000, -20_000, 0, 300, 50_000] as [Double], 1...5 as ClosedRange<UInt64>)
    func stalls(deviation: Double, seed: UInt64) {
        let outcome = SyntheticStream(deviation: deviation, stallEvery: 50, seed: seed).run(70)
        #expect(outcome.rms < 0.0002)
        #expect(outcome.settledAfter < 2)
        #expect(abs(outcome.periodErrorAfter2Seconds) < 2000)
        #expect(abs(outcome.periodErrorAfter1Minute) < 100)
        #expect(outcome.reversals == 0)
    }

    @Test(
        "Works with other rates and other hosts",
        arguments: [
            (1000, 0.003, 0.0001, 0.02), (1000, 0.0001, 0.0001, 0.005), (500, 0.003, 0.0005, 0.02),
            (200, 0, 0, 0.02), (200, 0.0001, 0.0003, 0.02), (100, 0.003, 0.0003, 0.02), (50, 0.003, 0.0003, 0.05),
        ] as [(Double, Double, Double, Double)])
    func hosts(rate: Double, lateness: Double, transaction: Double, interval: Double) {
        let outcome = SyntheticStream(
            rate: rate, deviation: 21_000, lateness: lateness, transaction: transaction, interval: interval
        ).run(70)
        #expect(outcome.rms < 0.0002)
        #expect(abs(outcome.periodErrorAfter1Minute) < 20)
        #expect(outcome.reversals == 0)
        #expect(outcome.future < 0.5)
    }

    @Test("At the lowest rate, 4 Hz, timestamps are accurate to a hundredth of a period")
    func slowest() {
        let outcome = SyntheticStream(rate: 4, deviation: -30_000).run(120)
        #expect(outcome.periodErrorAfter1Minute.magnitude < 100)
        #expect(outcome.rms < 0.0025)
        #expect(outcome.reversals == 0)
    }

    @Test("Fixed-interval reads are as accurate once the oscillators have drifted past one another")
    func fixedReads() {
        let outcome = SyntheticStream(deviation: 8_000, followsEstimate: false).run(70)
        #expect(outcome.rms < 0.0001)
        #expect(abs(outcome.periodErrorAfter1Minute) < 10)
    }

    @Test("Tracks a period that drifts with temperature", arguments: [-10, -2, 2, 10] as [Double])
    func drift(perSecond: Double) {
        let outcome = SyntheticStream(deviation: 5_000, drift: perSecond).run(120)
        #expect(outcome.rms < 0.00025)
        #expect(abs(outcome.periodErrorAfter1Minute) < 150)
        #expect(outcome.reversals == 0)
    }

    @Test("After the FIFO was emptied, the period is kept and the phase is found within a second")
    func restart() {
        var estimator = SamplePeriodEstimator(nominalPeriod: 0.005)
        let outcome = SyntheticStream(deviation: -17_000).run(40, restartAt: 30, outage: 0.7, into: &estimator)
        #expect(outcome.rms < 0.0002)
        #expect(outcome.reversals == 0)
        #expect(abs(estimator.deviation + 17_000) < 20)
        let isSettled = estimator.isSettled
        #expect(isSettled)
    }

    @Test("Right after a restart the period is the previous one, not the nominal one")
    func restartKeepsPeriod() {
        var estimator = SamplePeriodEstimator(nominalPeriod: 0.005)
        _ = SyntheticStream(deviation: 30_000).run(20, into: &estimator)
        estimator.restart()
        #expect(abs(estimator.deviation - 30_000) < 50)
        let isSettled = estimator.isSettled
        #expect(!isSettled)
    }

    @Test("If the chip samples on while its FIFO is emptied, the phase is kept", arguments: [4, 10, 50, 200, 1000])
    func keptPhase(rate: Double) {
        var estimator = SamplePeriodEstimator(nominalPeriod: 1 / rate)
        var stream = SyntheticStream(rate: rate, deviation: -17_000)
        stream.interval = max(0.02, 1 / rate)
        let outcome = stream.run(60, restartAt: 40, outage: 0.3, samplesOn: true, into: &estimator)
        // From the first sample after it.
        #expect(outcome.worst < max(0.0012, 0.02 / rate), "\(outcome.worst) s")
        #expect(outcome.reversals == 0)
    }

    @Test(
        "A step of the period is learnt within 3.3 s or 80 samples, while sampling or across a restart",
        arguments: 1...60 as ClosedRange<UInt64>)
    func steps(seed: UInt64) {
        let rate = [4, 12.5, 25, 50, 100, 200, 500, 1000][Int(seed % 8)] as Double
        let at = 20.0
        let across = seed % 2 == 0
        var stream = SyntheticStream(rate: rate, seed: seed)
        let (before, after) = (seed * 7919 % 2001, (seed * 104_729 + 31) % 2001)
        stream.deviation = Double(Int(before) - 1000) * 100
        stream.deviationAfterStep = Double(Int(after) - 1000) * 100
        stream.stepIndex = Int64(at * rate / (1 + stream.deviation * 1e-6))
        stream.interval = max(0.02, 1 / rate)
        var estimator = SamplePeriodEstimator(nominalPeriod: 1 / rate)
        let outcome = stream.run(across ? 60 : 61, restartAt: across ? at : .infinity, outage: 0.5, into: &estimator)
        let wanted = at + max(3.3, 80 / rate) + (across ? 0.5 : 0)
        #expect(outcome.lastWrong < wanted, "\(rate) Hz, \(stream.deviation) to \(stream.deviationAfterStep) ppm")
        #expect(outcome.reversals == 0)
    }

    @Test("Ignores a single impossible count; lasting ones restart the search for the phase")
    func contradiction() {
        var estimator = SamplePeriodEstimator(nominalPeriod: 0.005)
        func look(_ count: Int64, at seconds: Double) {
            estimator.observe(
                completed: count, from: Timestamp(seconds: seconds), to: Timestamp(seconds: seconds + 0.0002))
        }
        for poll in 1...200 { look(Int64(4 * poll), at: 0.02 * Double(poll) + 0.001) }
        let before = estimator.instant(ofSample: 900)
        look(830, at: 4.021)
        #expect(estimator.slips == 0)
        #expect(estimator.instant(ofSample: 900) == before)
        look(808, at: 4.041)
        #expect(abs(estimator.instant(ofSample: 900).seconds(since: before)) < 0.0005)
        // Three samples have disappeared from the count for good.
        for poll in 203...260 { look(Int64(4 * poll) - 3, at: 0.02 * Double(poll) + 0.001) }
        #expect(estimator.slips == 1)
        #expect(abs(estimator.instant(ofSample: 900).seconds(since: before) - 0.015) < 0.003)
    }

    @Test("A count that proves the timestamps too late shortens the steps to half a period, and never turns them back")
    func shortestStep() {
        var estimator = SamplePeriodEstimator(nominalPeriod: 0.005)
        // The first read came 40 ms late.
        estimator.observe(completed: 10, from: Timestamp(seconds: 5.04), to: Timestamp(seconds: 5.0402))
        var last = estimator.timestamp(ofSample: 1)
        for index: Int64 in 2...10 { last = estimator.timestamp(ofSample: index) }
        estimator.observe(completed: 20, from: Timestamp(seconds: 5.05), to: Timestamp(seconds: 5.0502))
        for index: Int64 in 11...20 {
            let timestamp = estimator.timestamp(ofSample: index)
            let step = timestamp.seconds(since: last) / estimator.period
            #expect(abs(step - 0.5) < 1e-6, "sample \(index)")
            last = timestamp
        }
    }

    @Test("With a single observation, the nominal period holds and the phase lies before the read")
    func firstRead() {
        var estimator = SamplePeriodEstimator(nominalPeriod: 0.005)
        estimator.observe(completed: 7, from: Timestamp(seconds: 5), to: Timestamp(seconds: 5.0002))
        #expect(estimator.period == 0.005)
        let isSettled = estimator.isSettled
        #expect(!isSettled)
        let behind = Timestamp(seconds: 5.0002).seconds(since: estimator.instant(ofSample: 7))
        #expect(behind > 0 && behind < 0.0052)
    }
}

/// Requirement: the estimator's memory is bounded, and it keeps the tightest bounds observed.
@Suite struct BoundWindowTests {
    private func block(_ index: Int64, _ seconds: Double, tight: Double = 0.002) -> BoundWindow.Block {
        BoundWindow.Block(
            upperIndex: index, upperTime: Timestamp(seconds: seconds + tight), lowerIndex: index + 1,
            lowerTime: Timestamp(seconds: seconds))
    }

    @Test("Never holds more than its capacity, and covers at least about a minute")
    func capacity() {
        var window = BoundWindow()
        for look in 0..<20_000 {
            _ = window.add(block(Int64(look) * 4, Double(look) * 0.02), period: 0.005)
            #expect(window.count <= BoundWindow.capacity)
        }
        #expect(window.span > 50 && window.span < 150)
    }

    @Test("Merging keeps the tighter bound of each kind")
    func merge() {
        var first = block(100, 0.5, tight: 0.004)
        let second = BoundWindow.Block(
            upperIndex: 104, upperTime: Timestamp(seconds: 0.5215), lowerIndex: 105,
            lowerTime: Timestamp(seconds: 0.5190))
        first.merge(second, period: 0.005)
        #expect(first.upperIndex == 104 && first.upperTime == Timestamp(seconds: 0.5215))
        #expect(first.lowerIndex == 101 && first.lowerTime == Timestamp(seconds: 0.5))
    }

    @Test("Dropping removes the oldest blocks")
    func drop() {
        var window = BoundWindow()
        for look in 0..<10 { _ = window.add(block(Int64(look), Double(look)), period: 1) }
        window.dropFirst(3)
        #expect(window.count == 7)
        #expect(window[0].upperIndex == 3)
        window.dropFirst(99)
        #expect(window.count == 0 && window.span == 0)
    }
}
