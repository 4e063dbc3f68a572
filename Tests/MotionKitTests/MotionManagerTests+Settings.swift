import LinuxSystem
import MotionCore
import SystemTestSupport
import Testing

@testable import MotionKit

/// What is changed while the sensor is read: in force with the next batch, without a jump elsewhere.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerSettingsTests {
    @Test func aChangeOfOneSettingLeavesTheOthers() {
        let manager = MotionManager(sensor: .virtual("rest"))
        manager.settings.attitudeLowPass = 3
        manager.changeSettings { $0.rotationRateLowPass = 7 }
        let settings = manager.settings
        #expect(settings.attitudeLowPass == 3 && settings.rotationRateLowPass == 7)
        manager.settings = MotionSettings()
    }

    /// Quiet hours: what is silenced does not begin, before the start and after it, whatever settings come meanwhile.
    @Test func whatIsSilencedDoesNotBegin() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = Journal<GestureEvent>()
        manager.setDefaultResponder { events.append($0) }
        manager.silence([.shake, .tap])
        var movement = Movement()
        let device = ScriptedDevice([.samples(movement.wholeShake())])
        try manager.start(with: device)
        defer { manager.stop() }
        #expect(await eventually { device.isExhausted })
        manager.changeSettings { $0.attitudeLowPass = 3 }
        device.feed(movement.rest(1) + movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        #expect(events.count == 0)

        manager.silence([])
        device.feed(movement.rest(1) + movement.openShake())
        #expect(await eventually { events.count == 1 })
        // One under way ends as it would.
        manager.silence(.shake)
        device.feed(movement.rest(1) + movement.wholeShake())
        #expect(await eventually { events.count == 2 && device.isExhausted })
        manager.stop()
        #expect(events.entries.map(\.phase) == [.began, .ended])
    }

    @Test func switchingShakesOffCancelsTheOneUnderWay() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = Journal<GestureEvent>()
        manager.setDefaultResponder { events.append($0) }
        var movement = Movement()
        let device = ScriptedDevice([.samples(movement.openShake())])
        try manager.start(with: device)
        defer { manager.stop() }
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

    /// Settings that were made before the start hold from its first sample.
    @Test func settingsHoldFromTheStart() async throws {
        var settings = MotionSettings.shakesOnly
        settings.gestures.shake.common.isEnabled = false
        let manager = MotionManager(settings: settings)
        let events = Journal<GestureEvent>()
        manager.setDefaultResponder { events.append($0) }
        manager.settings.attitudeLowPass = 1
        var movement = Movement()
        let device = ScriptedDevice([.samples(movement.wholeShake())])
        try manager.start(with: device)
        #expect(await eventually { device.isExhausted })
        manager.stop()
        #expect(events.count == 0)
        #expect(manager.settings.attitudeLowPass == 1)
    }

    /// A handler that is switched off is cancelled at once: nobody waits for the sensor's next news.
    @Test func aHandlerThatIsSwitchedOffIsCancelledAtOnce() async throws {
        let manager = MotionManager(settings: .shakesOnly, updateInterval: .infinity)
        let events = Journal<GestureEvent>()
        let others = Journal<GestureEvent>()
        manager.setDefaultResponder { others.append($0) }
        let token = manager.addRecognizer(.shake) { event in
            events.append(event)
            return .passOn
        }
        var movement = Movement()
        let device = ScriptedDevice([.samples(movement.openShake())])
        try manager.start(with: device)
        defer { manager.stop() }
        #expect(await eventually { others.count == 1 })
        token.isEnabled = false
        #expect(await eventually { events.count == 2 })
        #expect(events.entries.last?.reason == .disabled)
        device.feed(movement.rest(1))
        #expect(await eventually { others.count == 2 })
        #expect(others.entries.last?.phase == .ended)
        #expect(events.count == 2)
    }

    /// States come on the grid of the interval, and a new interval counts from its first sample on.
    @Test func theUpdateIntervalIsKeptAndChanged() async throws {
        let manager = MotionManager(updateInterval: 1)
        let states = Journal<MotionState>()
        manager.addMotionHandler { states.append($0) }
        var movement = Movement()
        let device = ScriptedDevice([.samples(movement.rest(10))])
        try manager.start(with: device)
        defer { manager.stop() }
        #expect(await eventually { device.isExhausted && states.count >= 10 })
        #expect(states.entries.map { ($0.timestamp.seconds - 100).rounded() } == (0..<10).map(Double.init))

        // Longer than anybody waits, and back again.
        manager.updateInterval = .infinity
        device.feed(movement.rest(10))
        #expect(await eventually { device.isExhausted && states.count == 11 })
        manager.updateInterval = 0.5
        device.feed(movement.rest(2))
        #expect(await eventually { device.isExhausted && states.count == 15 })
        #expect(states.entries.suffix(4).map { 2 * ($0.timestamp.seconds - 120) }.map { $0.rounded() } == [0, 1, 2, 3])
        #expect(manager.updateInterval == 0.5)
    }

    /// No interval that is none is a reason to crash: every sample's state is handed on.
    @Test(arguments: [0, -1, Double.nan, -Double.infinity])
    func anIntervalThatIsNoneGivesEveryState(interval: Double) async throws {
        let manager = MotionManager(updateInterval: interval)
        let states = Journal<MotionState>()
        manager.addMotionHandler { states.append($0) }
        var movement = Movement()
        try manager.start(with: ScriptedDevice([.samples(movement.rest(0.2))]))
        defer { manager.stop() }
        #expect(await eventually { states.count == 40 })
    }

    /// An endless interval is not a reason to crash either, nor to starve another handler.
    @Test func anEndlessIntervalGivesOneState() async throws {
        let manager = MotionManager(updateInterval: .infinity)
        let rare = Counter()
        let all = Counter()
        manager.addMotionHandler { _ in rare.countUp() }
        manager.addMotionHandler(every: .infinity) { _ in rare.countUp() }
        manager.addMotionHandler(every: 0) { _ in all.countUp() }
        var movement = Movement()
        try manager.start(with: ScriptedDevice([.samples(movement.rest(0.2))]))
        defer { manager.stop() }
        #expect(await eventually { all.value == 40 })
        #expect(rare.value <= 2)
    }

    /// A handler is not called once another handler, before it in the same round, has removed it.
    @Test func aRemovedHandlerIsNotCalledAnyMore() async throws {
        let manager = MotionManager(updateInterval: 0)
        let first = Counter()
        let second = Counter()
        let tokens = Journal<HandlerToken>()
        manager.addMotionHandler { _ in
            first.countUp()
            for token in tokens.entries { token.remove() }
        }
        tokens.append(manager.addMotionHandler { _ in second.countUp() })
        var movement = Movement()
        try manager.start(with: ScriptedDevice([.samples(movement.rest(0.1))]))
        defer { manager.stop() }
        #expect(await eventually { first.value == 20 })
        #expect(second.value == 0)
    }
}

/// The reference attitude: taken, cleared, and kept where it is to be kept.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerReferenceTests {
    private func manager(_ policy: ReferencePolicy, in directory: TemporaryDirectory? = nil) -> MotionManager {
        var settings = MotionSettings()
        settings.reference = policy
        return MotionManager(settings: settings, stateDirectory: directory?.path)
    }

    /// A board that rests rolled by `degrees`, for long enough to find its vertical.
    private func rest(rolledBy degrees: Double) -> [MotionSample] {
        var movement = Movement()
        movement.gravity = gravity(rolledBy: degrees)
        return movement.rest(4)
    }

    /// The published roll in degrees once the device has nothing more to give.
    private func roll(of manager: MotionManager, after device: ScriptedDevice) async -> Double? {
        guard await eventually({ device.isExhausted && manager.sensorStatus?.samples == device.status.samples }) else {
            return nil
        }
        return manager.attitude.map { $0.eulerAngles.roll * degreesPerRadian }
    }

    @Test func withoutAReferenceAttitudeIsToldFromTheVertical() async throws {
        let manager = manager(.none)
        let device = ScriptedDevice([.samples(rest(rolledBy: 30))])
        try manager.start(with: device)
        defer { manager.stop() }
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll - 30) < 0.1)
        #expect(manager.state?.hasReference == false)
    }

    @Test func theStartIsTheReferenceWhereThePolicySaysSo() async throws {
        let directory = TemporaryDirectory()
        let manager = manager(.start, in: directory)
        let device = ScriptedDevice([.samples(rest(rolledBy: 30))])
        try manager.start(with: device)
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll) < 0.1)
        #expect(manager.state?.hasReference == true)
        manager.stop()
        #expect(directory.names == [])
    }

    @Test func aReferenceIsTakenAndCleared() async throws {
        let manager = manager(.none)
        var movement = Movement()
        movement.gravity = gravity(rolledBy: -40)
        let device = ScriptedDevice([.samples(movement.rest(4))])
        try manager.start(with: device)
        defer { manager.stop() }
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

    /// Ordered before there is any sample, it is the first batch's attitude and not what a filter begins with.
    @Test func aReferenceOrderedTooEarlyIsTakenFromTheFirstSamples() async throws {
        let manager = manager(.none)
        let device = ScriptedDevice()
        try manager.start(with: device)
        defer { manager.stop() }
        try manager.takeReference()
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns + 2 })
        device.feed(rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll) < 0.1)
    }

    /// The heading alone leaves the roll as it is, also where it was ordered too early.
    @Test func aReferenceMayBeTheHeadingAlone() async throws {
        let manager = manager(.none)
        let device = ScriptedDevice()
        try manager.start(with: device)
        defer { manager.stop() }
        try manager.takeReference(headingOnly: true)
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns + 2 })
        device.feed(rest(rolledBy: 30))
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll - 30) < 0.1)
    }

    /// Kept by one manager, it is in force from the next one's first sample.
    @Test func aStoredReferenceOutlivesItsManager() async throws {
        let directory = TemporaryDirectory()
        do {
            let manager = manager(.stored, in: directory)
            let device = ScriptedDevice([.samples(rest(rolledBy: 30))])
            try manager.start(with: device)
            #expect(await eventually { device.isExhausted && manager.state != nil })
            #expect(directory.names == [])
            try manager.takeReference()
            // What was ordered before the stop holds.
            manager.stop()
            #expect(await eventually { directory.names == ["reference-attitude"] })
        }
        let manager = manager(.stored, in: directory)
        let device = ScriptedDevice([.samples(rest(rolledBy: 50))])
        try manager.start(with: device)
        defer { manager.stop() }
        let roll = try #require(await roll(of: manager, after: device))
        #expect(manager.state?.hasReference == true)
        #expect(abs(roll - 20) < 0.1)
        try manager.clearReference()
        #expect(await eventually { directory.names == [] })
    }

    /// The order comes while the sensor is busy, and the stop before it has been followed: it is followed all the same.
    @Test func aReferenceOrderedJustBeforeTheStopIsKept() async throws {
        let directory = TemporaryDirectory()
        let manager = manager(.stored, in: directory)
        let gate = Gate()
        defer { gate.open() }
        try manager.start(with: ScriptedDevice([.samples(rest(rolledBy: 30)), .stuck(gate)]))
        #expect(await eventually { gate.arrivals == 1 })
        let exchange = try #require(manager.running).exchange
        try manager.takeReference()
        // On a thread of its own, since stop does not wait for the sensor for longer than half a second.
        let opener = WorkerThread(name: "opener") {
            _ = eventuallyBlocking { exchange.shouldStop.load(ordering: .acquiring) }
            gate.open()
        }
        manager.stop()
        #expect(opener?.join(within: 10) == true)
        #expect(await eventually { directory.names == ["reference-attitude"] })
    }

    /// A reference in force is kept from the moment on at which it is to be stored.
    @Test func aReferenceIsKeptWhereThePolicyBecomesStored() async throws {
        let directory = TemporaryDirectory()
        let manager = manager(.none, in: directory)
        let device = ScriptedDevice([.samples(rest(rolledBy: 30))])
        try manager.start(with: device)
        defer { manager.stop() }
        #expect(await eventually { device.isExhausted && manager.state != nil })
        try manager.takeReference()
        device.feed([])
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns + 2 })
        #expect(directory.names == [])
        manager.settings.reference = .stored
        #expect(await eventually { directory.names == ["reference-attitude"] })
    }

    /// The policy may become `.stored` while the sensor is read: what an earlier run kept is in force from then on, in the
    /// place of one that was taken by itself, and stays kept.
    @Test(arguments: [ReferencePolicy.none, .start])
    func theStoredReferenceIsLoadedWhereThePolicyBecomesStored(policy: ReferencePolicy) async throws {
        let directory = TemporaryDirectory()
        let stored = Quaternion(roll: 10 * radiansPerDegree, pitch: 0, yaw: 0)
        try ReferenceStore(stateDirectory: directory.path).save(stored)
        let manager = manager(policy, in: directory)
        var movement = Movement()
        movement.gravity = gravity(rolledBy: 30)
        let device = ScriptedDevice([.samples(movement.rest(4))])
        try manager.start(with: device)
        defer { manager.stop() }
        let before = try #require(await roll(of: manager, after: device))
        #expect(abs(before - (policy == .start ? 0 : 30)) < 0.1)
        manager.settings.reference = .stored
        // Another change right behind it does not forget what the first one loaded.
        manager.settings.attitudeLowPass = 2
        device.feed(movement.rest(2))
        let after = try #require(await roll(of: manager, after: device))
        #expect(abs(after - 20) < 0.2)
        #expect(manager.state?.hasReference == true)
        manager.stop()
        #expect(try #require(ReferenceStore(stateDirectory: directory.path).load()).angle(to: stored) < 1e-9)
    }

    /// One that somebody took is the one to store, whatever was kept before.
    @Test func aTakenReferenceIsStoredInThePlaceOfTheOneBefore() async throws {
        let directory = TemporaryDirectory()
        let store = ReferenceStore(stateDirectory: directory.path)
        try store.save(Quaternion(roll: 0.2, pitch: 0, yaw: 0))
        let manager = manager(.none, in: directory)
        var movement = Movement()
        movement.gravity = gravity(rolledBy: 30)
        let device = ScriptedDevice([.samples(movement.rest(4))])
        try manager.start(with: device)
        defer { manager.stop() }
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

    /// A file that is not what was written is as good as none.
    @Test func aTornReferenceIsIgnored() async throws {
        let directory = TemporaryDirectory()
        try directory.write("jostle reference attitude 1\n0.7 0.7", to: directory.referenceFile)
        let manager = manager(.stored, in: directory)
        let device = ScriptedDevice([.samples(rest(rolledBy: 30))])
        try manager.start(with: device)
        defer { manager.stop() }
        let roll = try #require(await roll(of: manager, after: device))
        #expect(abs(roll - 30) < 0.1)
        #expect(manager.state?.hasReference == false)
    }

    /// A directory that cannot be written is no reason to be without the reference.
    @Test func aReferenceThatCannotBeKeptIsInForce() async throws {
        var settings = MotionSettings()
        settings.reference = .stored
        let manager = MotionManager(settings: settings, stateDirectory: "/dev/null/state")
        let device = ScriptedDevice([.samples(rest(rolledBy: 30))])
        try manager.start(with: device)
        defer { manager.stop() }
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
