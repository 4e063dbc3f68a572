import Foundation
import MotionCore
import Testing
import VirtualIMU

/// A running machine: one `began` and one `ended` per cycle, with level and frequency, at every sample rate and in
/// every mounting; not for hands, blows or sensor noise.
@Suite struct VibrationRecognizerTests {
    @Test func runningMachineBeginsAndEndsOnce() throws {
        let feed = VibrationFeed.afterMachine()
        #expect(feed.phases == [.began])
        #expect(feed.isVibrating)
        #expect(abs(feed.level - 0.5) < 0.05)
        feed.rest(seconds: 170)
        #expect(feed.level == 0 && feed.isVibrating)
        #expect(feed.phases == [.began])
        feed.rest(seconds: 15)
        #expect(feed.phases == [.began, .ended])
        #expect(!feed.isVibrating)

        let began = try #require(feed.events.first)
        let ended = try #require(feed.events.last)
        let (start, end) = (began.timestamp.seconds, ended.timestamp.seconds)
        #expect(start > 13 && start < 17)
        #expect(abs((began.duration ?? 0) - (start - 3)) < 1.5)
        #expect(end > 203 && end < 206)
        #expect(abs((ended.duration ?? 0) - 20) < 2)
        for event in [began, ended] {
            #expect(abs((event.level ?? 0) - 0.5) < 0.05)
            #expect(abs((event.frequency ?? 0) - 17) < 0.03 * 17)
            #expect(event.strength == nil && event.axis == nil && event.reason == nil)
        }
    }

    @Test(arguments: [20.0, 26, 50, 104, 200, 333, 500, 833, 1000])
    func reportsLevelAndFrequencyAtEverySampleRate(rate: Double) throws {
        for frequency in [5.0, 7.3, 13, 20, 33, 49, 77, 98] where frequency < 0.48 * rate {
            let feed = VibrationFeed(rate: rate)
            feed.vibrate(seconds: 20, frequency: frequency, rms: 0.3)
            let began = try #require(feed.events.first, "\(frequency) Hz")
            #expect(abs((began.frequency ?? 0) - frequency) < 0.02 * frequency, "\(frequency) Hz")
            #expect(abs((began.level ?? 0) - 0.3) < 0.05, "\(frequency) Hz")
        }
    }

    @Test func measuresBelowHalfOfTenHertz() throws {
        let feed = VibrationFeed(rate: 9.6)
        feed.rest(seconds: 30)
        feed.vibrate(seconds: 40, frequency: 3.6, rms: 0.5)
        let began = try #require(feed.events.first)
        #expect(abs((began.frequency ?? 0) - 3.6) < 0.05 * 3.6)
    }

    @Test(arguments: [(0.1, 0.0), (0.6, 0.0), (0, 0.03), (0.3, 0.1)])
    func toleratesJitterAndMissingSamples(jitter: Double, missing: Double) throws {
        for frequency in [5.0, 13, 41, 70] {
            let feed = VibrationFeed()
            feed.jitter = jitter
            feed.missing = missing
            feed.vibrate(seconds: 20, frequency: frequency, rms: 0.5)
            let began = try #require(feed.events.first, "\(frequency) Hz")
            #expect(abs((began.frequency ?? 0) - frequency) < 0.05 * frequency, "\(frequency) Hz")
        }
    }

    @Test func reportsStrongestFrequency() throws {
        let feed = VibrationFeed()
        feed.feed(seconds: 20) { t in
            Vector3(0.4 * sine(12, t), 0.8 * sine(31, t), 0) + Vector3(0, 0.3, -0.5) * sine(62, t)
        }
        let began = try #require(feed.events.first)
        #expect(abs((began.frequency ?? 0) - 31) < 0.03 * 31)
        let power = 0.5 * (0.4 * 0.4 + 0.8 * 0.8 + 0.3 * 0.3 + 0.5 * 0.5)
        #expect(abs((began.level ?? 0) - power.squareRoot()) < 0.05)
    }

    @Test func followsChangedSampleRate() throws {
        let feed = VibrationFeed(rate: 200)
        feed.rest(seconds: 10)
        for rate in [50.0, 400, 100] {
            feed.rate = rate
            feed.rest(seconds: 300)
            feed.events = []
            feed.vibrate(seconds: 20, frequency: 11, rms: 0.5)
            let began = try #require(feed.events.first, "at \(rate) Hz")
            #expect(abs((began.frequency ?? 0) - 11) < 0.03 * 11, "at \(rate) Hz")
        }
    }

    @Test func resultIsIndependentOfMounting() throws {
        for up in [Vector3(1, 0, 0), Vector3(0, -1, 0), Vector3(0.6, 0.48, -0.64)] {
            let feed = VibrationFeed()
            feed.up = up
            feed.direction = Vector3(-0.3, 0.9, 0.2)
            feed.rest(seconds: 2)
            feed.vibrate(seconds: 20, frequency: 23, rms: 0.4)
            let began = try #require(feed.events.first)
            #expect(abs((began.frequency ?? 0) - 23) < 0.03 * 23)
            #expect(abs((began.level ?? 0) - 0.4) < 0.05)
        }
    }

    @Test func resultIsIndependentOfGyroscope() {
        let with = VibrationFeed()
        with.hasGyroscope = true
        let without = VibrationFeed()
        with.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        without.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        #expect(with.events == without.events)
        #expect(with.phases == [.began])
    }

    @Test func pausesDoNotEndCycleButDelayItsBeginning() {
        let feed = VibrationFeed()
        // A drum that turns to and fro for four seconds, and stands still for six.
        for _ in 0..<12 {
            feed.vibrate(seconds: 4, frequency: 9, rms: 0.3)
            feed.rest(seconds: 6)
        }
        #expect(feed.phases == [.began])
        feed.rest(seconds: 150)
        feed.vibrate(seconds: 30, frequency: 21, rms: 2)
        feed.rest(seconds: 200)
        #expect(feed.phases == [.began, .ended])
        // The spin is by far the strongest.
        let frequency = feed.events.last?.frequency ?? 0
        #expect(abs(frequency - 21) < 0.03 * 21)
    }

    @Test func appliesShortTimes() {
        var settings = VibrationSettings()
        settings.runTime = 2
        settings.doneAfter = 5
        let feed = VibrationFeed(settings: settings)
        for _ in 0..<3 {
            for _ in 0..<4 {
                feed.vibrate(seconds: 5, frequency: 12, rms: 0.4)
                feed.rest(seconds: 3)
            }
            feed.rest(seconds: 8)
        }
        #expect(feed.phases == [.began, .ended, .began, .ended, .began, .ended])
    }
}

/// What does not count as a machine, and the effect of settings and interruptions.
@Suite struct VibrationRecognizerLimitTests {
    @Test(arguments: [0.02, 0.063, 0.15])
    func doesNotTakeSensorNoiseForVibration(noise: Double) {
        // Below 50 samples a second, at most an MPU-6050's 400 µg/√Hz in 260 Hz is taken for noise.
        for rate in [9.6, 20, 100, 200, 1000] where noise < 0.1 || rate > 50 {
            let feed = VibrationFeed(rate: rate)
            feed.noise = noise
            feed.rest(seconds: 120)
            #expect(feed.events.isEmpty, "at \(rate) Hz")
        }
    }

    @Test func rejectsShortBuzz() {
        let feed = VibrationFeed()
        feed.rest(seconds: 3)
        feed.vibrate(seconds: 6, frequency: 90, rms: 1)
        feed.rest(seconds: 60)
        #expect(feed.events.isEmpty)
        #expect(!feed.isVibrating)
        #expect(feed.misses.map(\.reason) == [.tooShort])
    }

    @Test func doesNotTakeKnocksForVibration() {
        let feed = VibrationFeed()
        // Two blows a second that ring for 0.05 s.
        feed.feed(seconds: 120) { t in
            let since = t - (2 * t).rounded(.down) / 2
            return since < 0.05 ? Vector3(0, 0, 12 * sine(60, since)) : .zero
        }
        #expect(feed.events.isEmpty)
    }

    @Test func doesNotTakeTypingForVibration() {
        let feed = VibrationFeed()
        // Six keystrokes a second for a minute, slightly irregular.
        feed.feed(seconds: 60) { t in
            let key = (6 * t).rounded(.down)
            let since = t - key / 6 - 0.06 * (1 + sine(0.37, key))
            return since > 0 && since < 0.05 ? Vector3(0, 0, 1.5 * exp(-since / 0.015) * sine(45, since)) : .zero
        }
        #expect(feed.events.isEmpty)
    }

    @Test func doesNotTakeSlowSwayingForVibration() {
        let feed = VibrationFeed()
        feed.feed(seconds: 60) { t in Vector3(3 * sine(0.8, t), 0, sine(1.7, t)) }
        #expect(feed.events.isEmpty)
    }

    @Test func doesNotTakeCarriedBoardForMachine() {
        let feed = VibrationFeed()
        feed.feed(seconds: 60) { t in
            // Steps with their harmonics, and a swinging arm.
            Vector3(2 * sine(0.95, t), 0.7 * sine(5.7, t), 3 * sine(1.9, t) + sine(3.8, t))
        }
        #expect(feed.events.isEmpty)
        #expect(feed.misses.map(\.reason) == [.notStill])
    }

    @Test func sensitivityFindsWeakVibration() {
        let feed = VibrationFeed()
        feed.noise = 0.01
        feed.vibrate(seconds: 60, frequency: 20, rms: 0.1)
        #expect(feed.events.isEmpty)
        #expect(feed.misses.map(\.reason) == [.tooWeak])
        #expect(abs((feed.misses.first?.value ?? 0) - 0.1) < 0.02)
        #expect(feed.misses.first?.limit == 0.12)
        expectHigherSensitivityCatchesMore(stride(from: 0.03, through: 0.4, by: 0.03), "m/s²") { rms, sensitivity in
            var settings = VibrationSettings()
            settings.common.sensitivity = sensitivity
            let feed = VibrationFeed(rate: 100, settings: settings)
            feed.noise = 0.01
            feed.vibrate(seconds: 15, frequency: 14, rms: rms)
            return feed.phases.contains(.began)
        }
    }

    @Test func ignoresFrequenciesBelowMinimum() {
        var settings = VibrationSettings()
        settings.minimumFrequency = 10
        let feed = VibrationFeed(settings: settings)
        feed.vibrate(seconds: 30, frequency: 7, rms: 0.5)
        #expect(feed.events.isEmpty)
        feed.vibrate(seconds: 30, frequency: 14, rms: 0.5)
        #expect(feed.phases == [.began])
    }

    @Test func appliesSettingsWhileRunning() {
        let feed = VibrationFeed()
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        feed.settings.vibration.threshold = 0.3
        feed.settings.vibration.doneAfter = 20
        feed.apply()
        feed.vibrate(seconds: 10, frequency: 17, rms: 0.5)
        #expect(feed.phases == [.began])
        #expect(feed.isVibrating)
        feed.vibrate(seconds: 17, frequency: 17, rms: 0.15)
        #expect(feed.phases == [.began])
        feed.vibrate(seconds: 6, frequency: 17, rms: 0.15)
        #expect(feed.phases == [.began, .ended])
    }

    @Test func updatesStateWhileGestureIsDisabled() {
        let feed = VibrationFeed()
        feed.settings.vibration.common.isEnabled = false
        feed.apply()
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        #expect(feed.events.isEmpty)
        #expect(feed.isVibrating)
        // When it is turned on, nothing begins: only the end is reported.
        feed.settings.vibration.common.isEnabled = true
        feed.apply()
        #expect(feed.isVibrating)
        feed.vibrate(seconds: 3, frequency: 17, rms: 0.5)
        #expect(feed.events.isEmpty)
        feed.rest(seconds: 190)
        #expect(feed.phases == [.ended] && feed.events[0].isAdopted)
        #expect(abs((feed.events[0].duration ?? 0) - 23) < 2)
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        feed.settings.vibration.common.isEnabled = false
        feed.apply()
        #expect(feed.phases == [.ended, .began, .cancelled])
        #expect(feed.events.last?.reason == .disabled && feed.isVibrating)
    }

    @Test func machineFoundRunningOnlyEnds() {
        let feed = VibrationFeed()
        feed.restsFirst = false
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        #expect(feed.events.isEmpty && feed.isVibrating)
        feed.rest(seconds: 190)
        #expect(feed.phases == [.ended] && feed.events[0].isAdopted && !feed.isVibrating)
        #expect(abs((feed.events[0].duration ?? 0) - 20) < 2)
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        feed.rest(seconds: 190)
        #expect(feed.phases == [.ended, .began, .ended] && !feed.events[2].isAdopted)
    }

    /// The run goes on while the sensor is lost.
    @Test(arguments: [2.0, 60, 300]) func machineThatRunsOnAfterGapEndsOnce(seconds: Double) {
        let feed = VibrationFeed.afterMachine()
        #expect(feed.phases == [.began])
        feed.pipeline.cancelGestures(.sensorLost) { feed.events.append($0) }
        feed.time += seconds
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        #expect(feed.phases == [.began] && feed.isVibrating)
        feed.rest(seconds: 190)
        #expect(feed.phases == [.began, .ended] && !feed.isVibrating)
        #expect(abs((feed.events[1].duration ?? 0) - 40 - seconds) < 2)
    }

    @Test func machineThatStoppedDuringGapIsCancelled() {
        let feed = VibrationFeed.afterMachine()
        feed.time += 60
        feed.rest(seconds: 175)
        #expect(feed.phases == [.began] && feed.isVibrating)
        feed.rest(seconds: 15)
        #expect(feed.phases == [.began, .cancelled] && !feed.isVibrating)
        #expect(feed.events[1].reason == .restarted && !feed.events[1].isAdopted)
    }

    /// It began while the sensor was lost.
    @Test func machineFoundAfterGapOnlyEnds() {
        let feed = VibrationFeed()
        feed.rest(seconds: 10)
        feed.time += 60
        feed.vibrate(seconds: 20, frequency: 17, rms: 0.5)
        #expect(feed.events.isEmpty && feed.isVibrating)
        feed.rest(seconds: 190)
        #expect(feed.phases == [.ended] && feed.events[0].isAdopted)
    }

    @Test(arguments: [VirtualTrajectory.walk, .shake, .gentleShake, .tap, .doubleTap, .demo, .drop, .fastTurn, .rest])
    func doesNotTakeOtherMovementForMachine(trajectory: VirtualTrajectory) {
        let movement = trajectory.trajectory
        let feed = VibrationFeed(rate: 100)
        feed.follow(movement, seconds: 60)
        #expect(feed.events.isEmpty)
        #expect(!feed.isVibrating)
    }

    @Test func washingMachineIsDoneOncePerCycle() throws {
        let movement = VirtualTrajectory.machine.trajectory
        let feed = VibrationFeed(rate: 100)
        feed.follow(movement, seconds: 1150)
        #expect(feed.phases == [.began, .ended, .began, .ended])
        let cycle = WashingMachine().duration
        for (index, event) in feed.events.enumerated() {
            let start = 5 + Double(index / 2) * 600
            let isBeginning = index % 2 == 0
            let due = isBeginning ? start + 10 : start + cycle + 180
            #expect(event.timestamp.seconds > due - 3 && event.timestamp.seconds < due + 6, "\(index)")
            let frequency = isBeginning ? 8.5 : 20
            #expect(abs((event.frequency ?? 0) - frequency) < 0.03 * frequency, "\(index)")
            if !isBeginning { #expect(abs((event.duration ?? 0) - cycle) < 4) }
        }
    }

    @Test func recognisesFanOnVirtualChip() throws {
        let rig = CalibrationRig(VirtualTrajectory.fan.trajectory, .typical)
        var settings = MotionSettings()
        settings.gestures.vibration.threshold = 0.12
        var pipeline = MotionPipeline(settings: settings)
        var events: [GestureEvent] = []
        rig.run(20) { pipeline.process($0) { events.append($0) } }
        let vibration = events.filter { $0.gesture == .vibration }
        #expect(vibration.map(\.phase) == [.began])
        let began = try #require(vibration.first)
        #expect(abs((began.frequency ?? 0) - 24) < 0.03 * 24)
        #expect(abs((began.level ?? 0) - 0.6 / 2.0.squareRoot()) < 0.05)
    }
}
