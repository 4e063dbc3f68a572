import Testing

@testable import MotionCore

/// Which proposals of recognizers are reported: phases are always paired, and precedence, gates and cooldowns apply.
@Suite struct GestureArbiterTests {
    @Test func everyBeginningHasExactlyOneEnd() {
        var rig = ArbiterRig()
        rig.propose(.turn, .changed, at: 0.5)
        rig.propose(.turn, .ended, at: 0.6)
        #expect(rig.words == [])
        rig.propose(.turn, .began, at: 1)
        rig.propose(.turn, .began, at: 1.1)
        rig.propose(.turn, .changed, at: 1.2)
        rig.propose(.turn, .ended, at: 1.3)
        rig.propose(.turn, .cancelled, at: 1.4)
        #expect(rig.words == ["turn began", "turn changed", "turn ended"])
        #expect(rig.arbiter.open.isEmpty)
    }

    @Test func differentGesturesRunSideBySide() {
        var rig = ArbiterRig()
        for gesture in [Gesture.motion, .vibration, .tilt, .turn] { rig.propose(gesture, .began, at: 1) }
        rig.propose(.tap, .recognized, at: 1.1)
        rig.propose(.flip, .recognized, at: 1.2)
        #expect(rig.events.count == 6)
        rig.cancelAll(.sensorLost, at: 2)
        let ends = Array(rig.events.suffix(4))
        #expect(ends.allSatisfy { $0.phase == .cancelled && $0.reason == .sensorLost && $0.timestamp.seconds == 2 })
        #expect(Set(ends.map(\.gesture)) == [.motion, .vibration, .tilt, .turn])
        rig.cancelAll(.stopped, at: 3)
        #expect(rig.events.count == 10)
    }

    @Test func shakeInterruptsTurnAndExcludesSimilarGestures() {
        var rig = ArbiterRig()
        rig.propose(.turn, .began, at: 1)
        rig.propose(.shake, .began, at: 1.5)
        #expect(rig.words == ["turn began", "turn cancelled", "shake began"])
        #expect(rig.events[1].reason == .interrupted)
        for gesture in [Gesture.tap, .flick] { rig.propose(gesture, .recognized, at: 1.6) }
        rig.propose(.turn, .began, at: 1.6)
        rig.propose(.shake, .ended, at: 2)
        // The rest of the movement, just after the shake.
        rig.propose(.flick, .recognized, at: 2.1)
        #expect(rig.words == ["turn began", "turn cancelled", "shake began", "shake ended"])
        #expect(rig.missReasons() == [.excluded, .excluded, .excluded, .excluded])
        rig.propose(.flick, .recognized, at: 2.5)
        #expect(rig.events.last?.gesture == .flick)
    }

    @Test func cancellationReportsDuration() throws {
        var rig = ArbiterRig()
        rig.propose(.turn, .began, at: 1, duration: 0.25)
        rig.cancelAll(.sensorLost, at: 3)
        let cancelled = try #require(rig.events.last)
        #expect(abs((cancelled.duration ?? 0) - 2.25) < 1e-9)
    }

    @Test func fallInterruptsShake() {
        var rig = ArbiterRig()
        rig.propose(.shake, .began, at: 1)
        rig.propose(.fall, .began, at: 1.4)
        rig.propose(.shake, .ended, at: 1.8)
        rig.propose(.fall, .ended, at: 1.9)
        // Bounces.
        rig.propose(.tap, .recognized, at: 2.2)
        rig.propose(.shake, .began, at: 2.5)
        #expect(rig.words == ["shake began", "shake cancelled", "fall began", "fall ended"])
        rig.propose(.shake, .began, at: 3)
        #expect(rig.words.last == "shake began")
    }

    @Test func flickWaitsForShakeToFail() {
        var rig = ArbiterRig()
        rig.undecided = .shake
        rig.propose(.flick, .recognized, at: 1)
        rig.release(at: 1.1)
        #expect(rig.events.isEmpty)
        rig.undecided = []
        rig.release(at: 1.2)
        #expect(rig.words == ["flick recognized"])
        // Never back-dated.
        #expect(rig.events[0].timestamp == Timestamp(seconds: 1.2))
        rig.release(at: 1.3)
        #expect(rig.events.count == 1)
    }

    @Test func dropsWaitingFlickWhenShakeBegins() {
        var rig = ArbiterRig()
        rig.undecided = .shake
        rig.propose(.flick, .recognized, at: 1)
        rig.propose(.shake, .began, at: 1.2)
        rig.undecided = []
        rig.release(at: 1.3)
        rig.propose(.shake, .ended, at: 2)
        rig.release(at: 3)
        #expect(rig.words == ["shake began", "shake ended"])
        #expect(rig.missReasons() == [.excluded])
    }

    @Test func waitingIsLimited() {
        var rig = ArbiterRig()
        rig.undecided = .shake
        rig.propose(.flick, .recognized, at: 1)
        rig.release(at: 1.5)
        rig.release(at: 2.1)
        #expect(rig.words == ["flick recognized"])
    }

    @Test func cancellingOrDisablingDropsWaitingEvents() {
        var rig = ArbiterRig()
        rig.undecided = .shake
        rig.propose(.flick, .recognized, at: 1)
        rig.cancelAll(.sensorLost, at: 1.1)
        rig.release(at: 3)
        rig.propose(.flick, .recognized, at: 4)
        var settings = GestureSettings()
        settings.flick.common.isEnabled = false
        rig.apply(settings, at: 4.1)
        rig.release(at: 6)
        #expect(rig.events.isEmpty)
    }

    @Test func cooldownCountsFromLastReportedEnd() {
        var settings = GestureSettings()
        settings.tap.common.cooldown = 0.5
        var rig = ArbiterRig(settings)
        rig.propose(.tap, .recognized, at: 1)
        rig.propose(.tap, .recognized, at: 1.4)
        rig.propose(.tap, .recognized, at: 1.6)
        rig.propose(.tap, .recognized, at: 2.2)
        #expect(rig.events.map(\.timestamp.seconds) == [1, 1.6, 2.2])
        #expect(rig.missReasons() == [.tooSoon])
    }

    @Test func minimumIntervalCountsFromBeginning() {
        var settings = GestureSettings()
        settings.vibration.common.gate.minimumInterval = 10
        var rig = ArbiterRig(settings)
        rig.propose(.vibration, .began, at: 1)
        rig.propose(.vibration, .ended, at: 8)
        rig.propose(.vibration, .began, at: 10)
        rig.propose(.vibration, .ended, at: 10.5)
        rig.propose(.vibration, .began, at: 11.5)
        #expect(rig.events.map(\.timestamp.seconds) == [1, 8, 11.5])
    }

    @Test func disablingCancelsAndSuppresses() {
        var rig = ArbiterRig()
        rig.propose(.tilt, .began, at: 1)
        rig.propose(.motion, .began, at: 1)
        var settings = GestureSettings()
        settings.tilt.common.isEnabled = false
        rig.apply(settings, at: 2)
        #expect(rig.words == ["tilt began", "motion began", "tilt cancelled"])
        #expect(rig.events[2].reason == .disabled)
        rig.propose(.tilt, .began, at: 3)
        rig.propose(.tilt, .ended, at: 4)
        #expect(rig.events.count == 3)
        settings.tilt.common.isEnabled = true
        rig.apply(settings, at: 5)
        rig.propose(.tilt, .began, at: 6)
        #expect(rig.words.last == "tilt began")
    }

    @Test func silencedGestureMayEndButNotBegin() {
        var rig = ArbiterRig()
        rig.propose(.shake, .began, at: 1)
        rig.arbiter.silenced = .shake
        // It is not a setting, so other settings do not change it.
        var settings = GestureSettings()
        settings.tap.common.sensitivity = 7
        rig.apply(settings, at: 1.5)
        rig.propose(.shake, .ended, at: 2)
        rig.propose(.shake, .began, at: 4)
        rig.propose(.shake, .ended, at: 5)
        rig.propose(.tap, .recognized, at: 6)
        #expect(rig.words == ["shake began", "shake ended", "tap recognized"])
    }

    /// What the only near miss of a shake says, if the board lies on its back and is tilted by 10° or moved before.
    private func miss(isMoving: Bool = false, _ change: (inout GestureGate) -> Void) -> NearMiss? {
        var settings = GestureSettings()
        change(&settings.shake.common.gate)
        var rig = ArbiterRig(settings)
        rig.hold(Vector3(0.1736, 0, 0.9848), moving: isMoving, seconds: 4)
        rig.propose(.shake, .began, at: 4)
        return rig.misses.take()
    }

    @Test func nearMissNamesConditionOfGate() throws {
        #expect(miss { $0.sides = BodySides(.minusZ) }?.gate == .side)
        #expect(miss { $0.still = false }?.gate == .moving)
        #expect(miss(isMoving: true) { $0.still = true }?.gate == .still)
        for (condition, limit) in [(NearMiss.GateCondition.tiltAbove, 20.0), (.tiltBelow, 5)] {
            let tilted = miss {
                if condition == .tiltAbove { $0.tiltAbove = limit * radiansPerDegree }
                if condition == .tiltBelow { $0.tiltBelow = limit * radiansPerDegree }
            }
            let found = try #require(tilted)
            #expect(found.gate == condition && found.unit == .angle)
            #expect(abs(found.value - 10 * radiansPerDegree) < 0.001 && found.limit == limit * radiansPerDegree)
        }
        var rig = ArbiterRig()
        rig.arbiter.silenced = .shake
        rig.propose(.shake, .began, at: 1)
        #expect(rig.misses.take()?.gate == .quietHours)
    }

    @Test func nearMissNamesGestureThatTookPrecedence() {
        var rig = ArbiterRig()
        rig.propose(.impact, .recognized, at: 1)
        rig.propose(.tap, .recognized, at: 1.1)
        #expect(rig.misses.take()?.precedence == .impact)
        rig.undecided = .shake
        rig.propose(.flick, .recognized, at: 2)
        rig.propose(.shake, .began, at: 2.2)
        let waited = rig.misses.take()
        #expect(waited?.gesture == .flick && waited?.precedence == .shake)
    }

    @Test func gateChecksSideBeforeMovement() {
        var settings = GestureSettings()
        settings.shake.common.gate.sides = BodySides(.minusZ)
        settings.shake.common.cooldown = 0
        var rig = ArbiterRig(settings)
        rig.hold(Vector3(0, 0, 1), moving: false, seconds: 1)
        rig.propose(.shake, .began, at: 1)
        #expect(rig.events.isEmpty && rig.missReasons() == [.gateClosed])
        rig.hold(Vector3(0, 0, -1), moving: false, seconds: 1)
        // During a shake, gravity is poorly known.
        rig.hold(Vector3(1, 0, 0), moving: true, seconds: 0.5)
        rig.propose(.shake, .began, at: 2.5, duration: 0.5)
        #expect(rig.words == ["shake began"])
    }

    @Test func gateChecksTiltFromReference() {
        var settings = GestureSettings()
        settings.shake.common.gate.tiltAbove = 20 * radiansPerDegree
        settings.shake.common.gate.tiltBelow = 60 * radiansPerDegree
        settings.shake.common.cooldown = 0
        var rig = ArbiterRig(settings)
        let reference = Vector3(0, 1, 0)
        for (degrees, isOpen) in [(0.0, false), (19, false), (21, true), (59, true), (61, false)] {
            let events = rig.events.count
            let up = Quaternion(angle: degrees * radiansPerDegree, axis: Vector3(1, 0, 0)).rotate(reference)
            rig.hold(up, moving: false, seconds: 1, referenceUp: reference)
            rig.propose(.shake, .began, at: degrees + 1)
            rig.propose(.shake, .ended, at: degrees + 1.5)
            #expect((rig.events.count > events) == isOpen, "\(degrees)°")
        }
    }

    @Test(arguments: [true, false])
    func gateChecksStillnessBeforeMovement(still: Bool) {
        var settings = GestureSettings()
        settings.shake.common.gate.still = still
        settings.shake.common.cooldown = 0
        var rig = ArbiterRig(settings)
        let up = Vector3(0, 0, 1)
        rig.hold(up, moving: false, seconds: 1)
        rig.hold(up, moving: true, seconds: 0.6)
        rig.propose(.shake, .began, at: 1.6, duration: 0.6)
        rig.propose(.shake, .ended, at: 2)
        rig.hold(up, moving: true, seconds: 5)
        rig.propose(.shake, .began, at: 6.6, duration: 0.6)
        #expect(rig.events.first?.timestamp == Timestamp(seconds: still ? 1.6 : 6.6))
        #expect(rig.events.filter { $0.phase == .began }.count == 1)
    }
}
