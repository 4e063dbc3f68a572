import MotionCore
import Testing

/// Requirement: without a threshold, the board learns what off is, and what running is.
@Suite struct MachineRuleTests {
    /// A feed that has seen its machine off for six minutes.
    private func feed(_ profile: MachineProfile = .washer, rate: Double = 100) -> VibrationFeed {
        var settings = VibrationSettings()
        settings.profile = profile
        let feed = VibrationFeed(rate: rate, settings: settings, learns: true)
        feed.rest(seconds: 360)
        return feed
    }

    @Test(arguments: [50.0, 100, 200, 1000])
    func weakMachineBeginsWithinFortyFiveSeconds(rate: Double) throws {
        let feed = feed(rate: rate)
        #expect(feed.phases.isEmpty && !feed.isVibrating)
        let start = feed.time
        feed.vibrate(seconds: 60, frequency: 17, rms: 0.1)
        #expect(feed.phases == [.began])
        let began = try #require(feed.events.first)
        #expect(began.timestamp.seconds - start < 45)
        #expect(abs((began.frequency ?? 0) - 17) < 0.5)
        #expect(abs((began.level ?? 0) - 0.1) < 0.02)
    }

    @Test func isDoneAfterTheWaitOfItsProfile() throws {
        // It runs evenly until it stops, as after a spin.
        for (profile, wait) in [(MachineProfile.steady, 10.0), (.printer, 120), (.washer, 300), (.auto, 300)] {
            let feed = feed(profile)
            feed.vibrate(seconds: 120, frequency: 20, rms: 0.5)
            let end = feed.time
            feed.rest(seconds: wait + 40)
            #expect(feed.phases == [.began, .ended], "\(profile)")
            let ended = try #require(feed.events.last)
            #expect(abs(ended.timestamp.seconds - end - wait) < 25, "\(profile)")
            #expect(ended.hasSpun == true && abs((ended.duration ?? 0) - 120) < 20)
        }
    }

    @Test func quietPhaseDoesNotEndARun() throws {
        let feed = feed()
        feed.vibrate(seconds: 120, frequency: 20, rms: 0.5)
        // Water: weak, then a long pause, then the main part.
        feed.vibrate(seconds: 300, frequency: 20, rms: 0.12)
        feed.rest(seconds: 800)
        feed.vibrate(seconds: 300, frequency: 20, rms: 0.5)
        feed.rest(seconds: 340)
        #expect(feed.phases == [.began, .ended])
        let ended = try #require(feed.events.last)
        #expect(abs((ended.longestPause ?? 0) - 800) < 30)
        #expect(abs((ended.peak ?? 0) - 0.5) < 0.05)
    }

    @Test func knocksAndStepsAreNoMachine() {
        let feed = feed()
        for _ in 0..<8 {
            for _ in 0..<40 { feed.knock(strength: 2) }
            feed.rest(seconds: 20)
        }
        #expect(feed.phases.isEmpty)
    }

    /// Surroundings change over hours, and a machine starts within minutes.
    @Test func louderSurroundingsAreNoMachine() {
        let feed = feed(rate: 50)
        for _ in 0..<120 {
            feed.noise *= 1.01
            feed.rest(seconds: 60)
        }
        #expect(feed.phases.isEmpty && !feed.isVibrating)
        feed.vibrate(seconds: 60, frequency: 17, rms: 1)
        #expect(feed.phases == [.began])
    }

    /// A single loud phase of a second or two is not enough, however often it comes.
    @Test func shortBurstsAreNoMachine() {
        let feed = feed()
        for _ in 0..<20 {
            feed.vibrate(seconds: 9, frequency: 17, rms: 0.3)
            feed.rest(seconds: 25)
        }
        #expect(feed.phases.isEmpty)
    }

    @Test func machineThatRunsAtTheStartWasFound() {
        let feed = VibrationFeed(rate: 100, learns: true)
        feed.restsFirst = false
        feed.vibrate(seconds: 60, frequency: 20, rms: 1)
        #expect(feed.isVibrating && feed.phases.isEmpty)
    }

    /// A machine runs on whatever happens to the samples.
    @Test func runGoesOnOverALoss() throws {
        let feed = feed()
        feed.vibrate(seconds: 120, frequency: 20, rms: 0.5)
        feed.lose(seconds: 60)
        #expect(feed.isVibrating)
        feed.vibrate(seconds: 120, frequency: 20, rms: 0.5)
        feed.rest(seconds: 340)
        #expect(feed.phases == [.began, .ended])
        #expect(abs((feed.events.last?.duration ?? 0) - 300) < 20)
    }

    /// A coarse sensor is silent for an hour, and then its reading toggles between two counts.
    @Test func togglingCountIsNoMachine() {
        let feed = VibrationFeed(rate: 100, learns: true)
        let count = 0.157
        feed.distort = { force in
            Vector3(
                (force.x / count).rounded() * count, (force.y / count).rounded() * count,
                (force.z / count).rounded() * count)
        }
        feed.noise = 0.02
        feed.rest(seconds: 600)
        feed.feed(seconds: 300) { _ in Vector3(0.5 * count, 0, 0) }
        #expect(feed.phases.isEmpty)
    }

    @Test(arguments: [-1.0, 1])
    func deviationIsReportedInBothDirections(sign: Double) throws {
        let feed = feed(.steady, rate: 100)
        feed.noise = 0.004
        func run(_ harmonic: Double, minutes: Double) -> [MachineReport] {
            let reports = feed.run(seconds: 60 * minutes, frequency: 12, rms: 0.5, harmonic: harmonic)
            feed.rest(seconds: 60)
            return reports
        }
        for _ in 0..<6 {
            for report in run(0.1, minutes: 5) { #expect(report.deviation == nil) }
        }
        let reports = run(sign < 0 ? 0.04 : 0.25, minutes: 16)
        let deviation = try #require(reports.last?.deviation)
        // The harmonic at 24 Hz.
        #expect(deviation.octave == 22.4)
        #expect(abs(Double(deviation.decibels) - sign * 8) < 1.5)
        feed.say(.fine)
        for report in run(sign < 0 ? 0.04 : 0.25, minutes: 16) { #expect(report.deviation == nil) }
    }

    @Test func measuresAMinute() throws {
        let feed = feed(.steady, rate: 200)
        feed.noise = 0.004
        feed.settings.vibration.speed = 25
        feed.apply()
        let reports = feed.run(seconds: 130, frequency: 25.3, rms: 0.5, harmonic: 0)
        let measurement = try #require(reports.compactMap(\.measurement).last)
        #expect(abs(measurement.acceleration - 0.5) < 0.01)
        #expect(abs(measurement.velocity - 0.5 / (2 * .pi * 25.3)) < 0.0001)
        #expect(abs(measurement.kurtosis - 1.5) < 0.15)
        #expect(abs(measurement.crestFactor - 1.41) < 0.25)
        #expect(abs(Double(measurement.lineFrequencies[0]) - 25.3) < 0.2)
        #expect(abs((measurement.speed ?? 0) - 25.3) < 0.2)
        #expect(abs(measurement.highestVelocity - 90) < 0.1)
    }

    @Test func statementsShortenLearning() throws {
        let feed = VibrationFeed(rate: 100, learns: true)
        feed.rest(seconds: 20)
        #expect(feed.report.isLearning)
        feed.say(.off)
        feed.vibrate(seconds: 60, frequency: 17, rms: 0.1)
        #expect(feed.phases == [.began])
        feed.say(.running)
        #expect(!feed.report.isLearning)
        feed.say(.off)
        #expect(feed.phases == [.began, .ended])
    }

    @Test func highBandsAreMeasuredAtHighRates() throws {
        let feed = feed(.steady, rate: 1000)
        let reports = feed.run(seconds: 130, frequency: 300, rms: 0.5, harmonic: 0)
        let measurement = try #require(reports.compactMap(\.measurement).last)
        #expect(abs(measurement.acceleration - 0.5) < 0.02)
        #expect(feed.phases.first == .began)
        #expect(measurement.highestVelocity == 260 && measurement.highestAcceleration == 400)
        // The octave from 179 to 358 Hz.
        let band = try #require(VibrationBands.octaves(rate: 1000).first { abs(VibrationBands.edge($0) - 179.2) < 0.1 })
        #expect(abs(Double(measurement.octaves[band]) + 6) < 0.5)
    }

    /// ISO 20816-1 measures velocity from 10 to 1000 Hz.
    @Test(arguments: [(1000, 40), (1000, 230), (4000, 40), (4000, 300), (4000, 900)] as [(Double, Double)])
    func velocityIsMeasuredOverTheWholeBand(rate: Double, frequency: Double) throws {
        let feed = VibrationFeed(rate: rate, learns: true)
        feed.rest(seconds: 20)
        feed.say(.off)
        let reports = feed.run(seconds: 130, frequency: frequency, rms: 20, harmonic: 0)
        let measurement = try #require(reports.compactMap(\.measurement).last)
        #expect(measurement.highestVelocity == (rate > 1000 ? 1000 : 260))
        #expect(abs(measurement.acceleration / 20 - 1) < 0.02)
        #expect(abs(measurement.velocity * 2 * .pi * frequency / 20 - 1) < 0.02)
    }
}
