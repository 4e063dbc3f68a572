import MotionCore
import Testing

/// Each gate of vibration with movements that differ in nothing else: one that it lets pass and one that only it refuses.
@Suite struct VibrationGateTests {
    /// A machine's vibration, m/s², at 23 Hz.
    private static func machine(_ time: Double, rms: Double = 0.5) -> Vector3 {
        Vector3(0.64, -0.6, 0.48) * (rms * 2.0.squareRoot() * sine(23, time))
    }

    /// The share of a triangle wave's way, from 0 to 1 and back within `period` seconds.
    private static func triangle(_ time: Double, period: Double) -> Double {
        let phase = (time / period) - (time / period).rounded(.down)
        return phase < 0.5 ? 2 * phase : 2 - 2 * phase
    }

    /// A car: the engine vibrates, and slopes and bends shift the mean force slowly. In too gentle a bend it counts.
    @Test(arguments: [(0.04, true), (0.3, false)])
    func ignoresVibrationWhileMeanForceShifts(slope: Double, isMachine: Bool) {
        let feed = VibrationFeed()
        let height = 12 * slope
        feed.feed(seconds: 96) { t in
            Self.machine(t) + Vector3(0.3, 0.9, -0.3) * (height * Self.triangle(t, period: 24))
        }
        #expect(feed.phases == (isMachine ? [.began] : []))
        #expect(Set(feed.misses.map(\.reason)) == (isMachine ? [] : [.notStill]))
    }

    /// A hand that holds a running tool: the vibration is strong, and a slow trembling comes with it. The window of
    /// 1.28 s has two periods of it, so its mean does not shift.
    @Test(arguments: [(0.3, true), (1.2, false)])
    func ignoresVibrationDuringSlowMovement(peak: Double, isMachine: Bool) {
        let feed = VibrationFeed()
        feed.feed(seconds: 40) { t in Self.machine(t) + Vector3(0, peak, 0) * sine(2 / 1.28, t) }
        #expect(feed.phases == (isMachine ? [.began] : []))
    }

    /// A tool that a hand takes up again and again is no machine, though it runs most of the time; a machine that
    /// pauses for as long is one.
    @Test(arguments: [true, false])
    func handlingCountsAgainstMachineMoreThanPause(isHandled: Bool) {
        let feed = VibrationFeed()
        for _ in 0..<8 {
            feed.vibrate(seconds: 6, frequency: 23, rms: 0.5)
            feed.feed(seconds: 3.5) { t in
                isHandled ? Self.machine(t) + Vector3(0, 3, 1) * sine(0.9, t) : .zero
            }
        }
        #expect(feed.phases == (isHandled ? [] : [.began]))
    }

    /// A machine that becomes weaker is still running; one that is as weak from its start has not begun.
    @Test func weakerVibrationContinuesButDoesNotBegin() {
        var settings = VibrationSettings()
        settings.threshold = 0.4
        settings.doneAfter = 20
        let weak = VibrationFeed(settings: settings)
        weak.vibrate(seconds: 40, frequency: 23, rms: 0.34)
        #expect(weak.events.isEmpty)
        let running = VibrationFeed(settings: settings)
        running.vibrate(seconds: 20, frequency: 23, rms: 0.6)
        running.vibrate(seconds: 60, frequency: 23, rms: 0.34)
        #expect(running.phases == [.began])
        running.vibrate(seconds: 60, frequency: 23, rms: 0.2)
        #expect(running.phases == [.began, .ended])
    }

    /// Knocks on a machine that has stopped do not keep it running.
    @Test func blowsDoNotKeepMachineRunning() {
        var settings = VibrationSettings()
        settings.doneAfter = 20
        let feed = VibrationFeed(settings: settings)
        feed.vibrate(seconds: 20, frequency: 23, rms: 0.5)
        feed.feed(seconds: 60) { t in
            let since = t - 2 * (0.5 * t).rounded(.down)
            return since < 0.05 ? Vector3(0, 0, 12 * sine(60, since)) : .zero
        }
        feed.rest(seconds: 2)
        #expect(feed.phases == [.began, .ended])
        let duration = feed.events.last?.duration ?? 0
        #expect(abs(duration - 20) < 2)
    }

    /// Blows so close together that every part of a window has some are no machine either.
    @Test func ignoresBlowsWithoutPause() {
        let feed = VibrationFeed(rate: 400)
        feed.feed(seconds: 60) { t in
            let since = t - 0.13 * (t / 0.13).rounded(.down)
            return since < 0.004 ? Vector3(0, 0, 30 * sine(125, since)) : .zero
        }
        #expect(feed.events.isEmpty)
    }

    /// The window in which a machine resumes just in time does not end it.
    @Test func windowInWhichVibrationResumesDoesNotEndMachine() {
        var settings = VibrationSettings()
        settings.doneAfter = 10
        for extra in 0..<8 {
            let feed = VibrationFeed(settings: settings)
            feed.restsFirst = false
            feed.vibrate(seconds: 20, frequency: 23, rms: 0.5)
            feed.rest(seconds: 8.9 + 0.16 * Double(extra))
            // Too short for most of a window.
            feed.vibrate(seconds: 20, frequency: 23, rms: 0.5)
            #expect(feed.phases.isEmpty && feed.isVibrating, "\(extra)")
        }
    }
}
