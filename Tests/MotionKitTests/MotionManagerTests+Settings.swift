import BrokerTestSupport
import LinuxSystem
import MotionCore
import Testing

@testable import MotionKit

/// Changes while the sensor is read take effect with the next batch and affect nothing else.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerSettingsTests {
    private let rig = Rig()

    @Test func changesOneSettingOnly() {
        let manager = MotionManager(sensor: .virtual("rest"))
        manager.settings.attitudeLowPass = 3
        manager.changeSettings { $0.rotationRateLowPass = 7 }
        let settings = manager.settings
        #expect(settings.attitudeLowPass == 3 && settings.rotationRateLowPass == 7)
        manager.settings = MotionSettings()
    }

    /// Quiet hours: silenced gestures do not begin, before or after the start, whatever other settings change.
    @Test func silencedGesturesDoNotBegin() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let events = manager.gestureJournal()
        manager.silence([.shake, .tap])
        var movement = Movement()
        let device = try manager.start(feeding: movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        manager.changeSettings { $0.attitudeLowPass = 3 }
        device.feed(movement.rest(1) + movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        #expect(events.count == 0)

        manager.silence([])
        device.feed(movement.rest(1) + movement.openShake())
        #expect(await eventually { events.count == 1 })
        // An open gesture ends as usual.
        manager.silence(.shake)
        device.feed(movement.rest(1) + movement.wholeShake())
        #expect(await eventually { events.count == 2 && device.isExhausted })
        manager.stop()
        #expect(events.entries.map(\.phase) == [.began, .ended])
    }

    @Test func disablingShakeCancelsOpenShake() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let events = manager.gestureJournal()
        var movement = Movement()
        let device = try manager.start(feeding: movement.openShake())
        #expect(await eventually { events.count == 1 })
        manager.settings.gestures.shake.common.isEnabled = false
        #expect(await eventually { events.count == 2 })
        #expect(events.entries.last?.phase == .cancelled)
        #expect(events.entries.last?.reason == .disabled)

        device.feed(movement.rest(1) + movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        manager.settings.gestures.shake.common.isEnabled = true
        #expect(manager.settings.gestures.shake.common.isEnabled)
        device.feed(movement.rest(1) + movement.wholeShake())
        #expect(await eventually { events.count == 4 })
        #expect(events.entries.map(\.phase) == [.began, .cancelled, .began, .ended])
    }

    /// Settings made before the start apply from the first sample.
    @Test func appliesSettingsFromFirstSample() async throws {
        var settings = MotionSettings.shakesOnly
        settings.gestures.shake.common.isEnabled = false
        let manager = MotionManager(settings: settings)
        let events = manager.gestureJournal()
        manager.settings.attitudeLowPass = 1
        let device = try manager.start(feeding: Movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        manager.stop()
        #expect(events.count == 0)
        #expect(manager.settings.attitudeLowPass == 1)
    }

    /// A disabled handler receives its cancellation at once, without waiting for the sensor.
    @Test func disablingHandlerCancelsAtOnce() async throws {
        let manager = rig.manager(settings: .shakesOnly, updateInterval: .infinity)
        let events = Journal<GestureEvent>()
        let others = manager.gestureJournal()
        let token = manager.addRecognizer(.shake, into: events) { $0 }
        var movement = Movement()
        let device = try manager.start(feeding: movement.openShake())
        #expect(await eventually { others.count == 1 })
        token.isEnabled = false
        #expect(await eventually { events.count == 2 })
        #expect(events.entries.last?.reason == .disabled)
        device.feed(movement.rest(1))
        #expect(await eventually { others.count == 2 })
        #expect(others.entries.last?.phase == .ended)
        #expect(events.count == 2)
    }

    /// States are delivered on the grid of the interval, and a new interval starts with its first sample.
    @Test func keepsAndChangesUpdateInterval() async throws {
        let manager = rig.manager(updateInterval: 1)
        let states = manager.stateJournal()
        var movement = Movement()
        let device = ScriptedDevice()
        try manager.start(with: device)
        // Half a second at a time, because a handler that is late misses states.
        for step in 0..<20 {
            device.feed(movement.rest(0.5))
            #expect(await eventually { device.isExhausted && states.count == step / 2 + 1 })
        }
        let seconds = states.entries.map { ($0.timestamp.seconds - 100).rounded() }
        #expect(seconds == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])

        // Set an interval longer than the test, and then a short one.
        manager.updateInterval = .infinity
        device.feed(movement.rest(10))
        #expect(await eventually { device.isExhausted && states.count == 11 })
        manager.updateInterval = 0.5
        for step in 0..<4 {
            device.feed(movement.rest(0.5))
            #expect(await eventually { device.isExhausted && states.count == 12 + step })
        }
        let halves = states.entries.suffix(4).map { (2 * ($0.timestamp.seconds - 120)).rounded() }
        #expect(halves == [0, 1, 2, 3])
        #expect(manager.updateInterval == 0.5)
    }

    /// An invalid interval does not crash: every sample's state is delivered.
    @Test(arguments: [0, -1, Double.nan, -Double.infinity])
    func invalidIntervalDeliversEveryState(interval: Double) async throws {
        let manager = rig.manager(updateInterval: interval)
        let states = manager.stateJournal()
        try manager.start(with: ScriptedDevice([.samples(Movement.rest(0.2))]))
        #expect(await eventually { states.count == 40 })
    }

    /// An infinite interval neither crashes nor starves another handler.
    @Test func acceptsInfiniteInterval() async throws {
        let manager = rig.manager(updateInterval: .infinity)
        let rare = Counter()
        let all = Counter()
        manager.addMotionHandler { _ in rare.countUp() }
        manager.addMotionHandler(every: .infinity) { _ in rare.countUp() }
        manager.addMotionHandler(every: 0) { _ in all.countUp() }
        try manager.start(with: ScriptedDevice([.samples(Movement.rest(0.2))]))
        #expect(await eventually { all.value == 40 })
        #expect(rare.value <= 2)
    }

    /// A handler is not called if another one removed it earlier in the same round.
    @Test func doesNotCallRemovedHandler() async throws {
        let manager = rig.manager(updateInterval: 0)
        let first = Counter()
        let second = Counter()
        let tokens = Journal<HandlerToken>()
        manager.addMotionHandler { _ in
            first.countUp()
            for token in tokens.entries { token.remove() }
        }
        tokens.append(manager.addMotionHandler { _ in second.countUp() })
        try manager.start(with: ScriptedDevice([.samples(Movement.rest(0.1))]))
        #expect(await eventually { first.value == 20 })
        #expect(second.value == 0)
    }
}

/// The reference attitude is taken, cleared, and stored according to its policy.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerReferenceTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.absent()

    private func manager(_ policy: ReferencePolicy) -> MotionManager {
        var settings = MotionSettings()
        settings.reference = policy
        return rig.manager(settings: settings, stateDirectory: directory.path)
    }

    /// Samples of a board at rest, rolled by `degrees`, long enough for the filter to find the vertical.
    private func rest(rolledBy degrees: Double) -> [MotionSample] {
        Movement.rest(4, rolledBy: degrees)
    }

    /// The published roll, degrees, after the device's last sample.
    private func roll(of manager: MotionManager, after device: ScriptedDevice) async -> Double? {
        guard await eventually({ device.isExhausted && manager.sensorStatus?.samples == device.status.samples }) else {
            return nil
        }
        return manager.attitude.map { $0.eulerAngles.roll * degreesPerRadian }
    }

    @Test func measuresAttitudeFromVerticalWithoutReference() async throws {
        let manager = manager(.none)
        let device = try manager.start(feeding: rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll - 30) < 0.1)
        #expect(manager.state?.hasReference == false)
    }

    @Test func takesReferenceAtStartIfPolicySaysSo() async throws {
        let manager = manager(.start)
        let device = try manager.start(feeding: rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll) < 0.1)
        #expect(manager.state?.hasReference == true)
        manager.stop()
        #expect(directory.names == [])
    }

    @Test func takesAndClearsReference() async throws {
        let manager = manager(.none)
        var movement = Movement(rolledBy: -40)
        let device = try manager.start(feeding: movement.rest(4))
        let before = try #require(await roll(of: manager, after: device))
        #expect(abs(before + 40) < 0.1)
        try manager.takeReference()
        device.feed(movement.rest(0.1))
        #expect(await eventually { manager.state?.hasReference == true })
        let taken = try #require(await roll(of: manager, after: device))
        #expect(abs(taken) < 0.1)
        try manager.clearReference()
        device.feed(movement.rest(0.1))
        #expect(await eventually { device.isExhausted })
        device.feed(movement.rest(0.1))
        #expect(await eventually { manager.state?.hasReference == false })
        let cleared = try #require(await roll(of: manager, after: device))
        #expect(abs(cleared + 40) < 0.1)
    }

    /// Requested before the first sample, the reference is the attitude of the first batch, not the filter's initial value.
    @Test func takesEarlyReferenceFromFirstSamples() async throws {
        let manager = manager(.none)
        let device = ScriptedDevice()
        try manager.start(with: device)
        try manager.takeReference()
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns + 2 })
        device.feed(rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll) < 0.1)
    }

    /// A heading-only reference does not change the roll, even if it was requested before the first sample.
    @Test func takesHeadingOnlyReference() async throws {
        let manager = manager(.none)
        let device = ScriptedDevice()
        try manager.start(with: device)
        try manager.takeReference(headingOnly: true)
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns + 2 })
        device.feed(rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll - 30) < 0.1)
    }

    /// A reference saved by one manager applies from the first sample of the next one.
    @Test func restoresStoredReferenceInNextManager() async throws {
        do {
            let manager = manager(.stored)
            let device = try manager.start(feeding: rest(rolledBy: 30))
            #expect(await eventually { device.isExhausted && manager.state != nil })
            #expect(directory.names == [])
            try manager.takeReference()
            // What was requested before the stop takes effect.
            manager.stop()
            #expect(await eventually { directory.names == ["reference-attitude"] })
        }
        let manager = manager(.stored)
        let device = try manager.start(feeding: rest(rolledBy: 50))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll - 20) < 0.1)
        try manager.clearReference()
        #expect(await eventually { directory.names == [] })
    }

    /// A reference that is requested while the sensor is busy takes effect even if stop comes before the next batch.
    @Test func savesReferenceRequestedJustBeforeStop() async throws {
        let manager = manager(.stored)
        let gate = Gate()
        defer { gate.open() }
        try manager.start(with: ScriptedDevice([.samples(rest(rolledBy: 30)), .stuck(gate)]))
        #expect(await eventually { gate.arrivals == 1 })
        let exchange = try #require(manager.running).exchange
        try manager.takeReference()
        // On its own thread, since stop waits for the sensor for half a second at most.
        let opener = WorkerThread(name: "opener") {
            _ = eventuallyBlocking { exchange.shouldStop.load(ordering: .acquiring) }
            gate.open()
        }
        manager.stop()
        #expect(opener?.join(within: 10) == true)
        #expect(await eventually { directory.names == ["reference-attitude"] })
    }

    /// The present reference is saved as soon as the policy becomes `.stored`.
    @Test func savesReferenceWhenPolicyBecomesStored() async throws {
        let manager = manager(.none)
        let device = try manager.start(feeding: rest(rolledBy: 30))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        device.feed([])
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns + 2 })
        #expect(directory.names == [])
        manager.settings.reference = .stored
        #expect(await eventually { directory.names == ["reference-attitude"] })
    }

    /// The policy may become `.stored` while the sensor is read. The reference saved by an earlier run then replaces one that
    /// was taken automatically, and stays saved.
    @Test(arguments: [ReferencePolicy.none, .start])
    func loadsReferenceWhenPolicyBecomesStored(policy: ReferencePolicy) async throws {
        let stored = Quaternion(roll: 10 * radiansPerDegree, pitch: 0, yaw: 0)
        try ReferenceStore(stateDirectory: directory.path).save(stored)
        let manager = manager(policy)
        var movement = Movement(rolledBy: 30)
        let device = try manager.start(feeding: movement.rest(4))
        let before = try #require(await roll(of: manager, after: device))
        #expect(abs(before - (policy == .start ? 0 : 30)) < 0.1)
        manager.settings.reference = .stored
        // Another change right after it does not discard the loaded reference.
        manager.settings.attitudeLowPass = 2
        device.feed(movement.rest(2))
        let after = try #require(await roll(of: manager, after: device))
        #expect(abs(after - 20) < 0.2)
        #expect(manager.state?.hasReference == true)
        manager.stop()
        #expect(try #require(ReferenceStore(stateDirectory: directory.path).load()).angle(to: stored) < 1e-9)
    }

    /// A reference that was taken on request is stored, and replaces the stored one.
    @Test func takenReferenceReplacesStoredOne() async throws {
        let store = ReferenceStore(stateDirectory: directory.path)
        try store.save(Quaternion(roll: 0.2, pitch: 0, yaw: 0))
        let manager = manager(.none)
        var movement = Movement(rolledBy: 30)
        let device = try manager.start(feeding: movement.rest(4))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        device.feed(movement.rest(0.1))
        #expect(await eventually { manager.state?.hasReference == true })
        manager.settings.reference = .stored
        #expect(await eventually { (store.load()?.eulerAngles.roll ?? 0) > 0.5 })
        device.feed(movement.rest(1))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll) < 0.1)
    }

    /// A damaged file counts as none.
    @Test func ignoresDamagedReference() async throws {
        try directory.write("jostle reference attitude 1\n0.7 0.7", to: "reference-attitude")
        let manager = manager(.stored)
        let device = try manager.start(feeding: rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll - 30) < 0.1)
        #expect(manager.state?.hasReference == false)
    }

    /// The reference is used even if the directory cannot be written.
    @Test func usesReferenceThatCannotBeSaved() async throws {
        var settings = MotionSettings()
        settings.reference = .stored
        let manager = rig.manager(settings: settings, stateDirectory: "/dev/null/state")
        let device = try manager.start(feeding: rest(rolledBy: 30))
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        device.feed(
            rest(rolledBy: 30).map { sample in
                var sample = sample
                sample.timestamp = sample.timestamp.advanced(bySeconds: 4)
                return sample
            })
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll) < 0.1)
    }
}
