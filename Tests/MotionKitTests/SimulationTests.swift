import BrokerTestSupport
import MotionCore
import Testing

@testable import MotionKit

/// Requirement: a simulated movement triggers the same gestures as a real one, once and marked, and does not affect the
/// real sensor.
@Suite(.timeLimit(.minutes(1))) struct SimulationTests {
    private let manager = MotionManager(settings: .shakesOnly)
    private let device = ScriptedDevice()
    private let events = Journal<GestureEvent>()

    private var simulated: [GestureEvent] { events.entries.filter(\.isSimulated) }
    private var real: [GestureEvent] { events.entries.filter { !$0.isSimulated } }

    init() {
        manager.setDefaultResponder { [events] in events.append($0) }
    }

    private func hasEnded() async -> Bool { await eventually { manager.simulatedMovement == nil } }

    @Test func shakeBeginsAndEndsOnce() async throws {
        let start = monotonicSeconds()
        try manager.start(with: device)
        let shake = try SimulatedMovement("shake")
        try manager.simulate(shake)
        #expect(manager.simulatedMovement == shake)
        #expect(await hasEnded())
        #expect(await eventually { events.count == 2 })
        #expect(simulated.map(\.phase) == [.began, .ended])
        #expect(simulated.allSatisfy { $0.gesture == .shake && $0.axis == .x })
        for event in simulated { #expect((start...monotonicSeconds()).contains(event.timestamp.seconds)) }
        #expect(manager.state == nil, "the sensor has not measured anything")
        #expect(manager.sensorStatus?.samples == 0)
    }

    /// The real board is shaken during a simulation: both shakes begin and end, and the real one is the same as without a
    /// simulation.
    @Test func doesNotAffectRealGestures() async throws {
        let samples = Movement.wholeShake()
        var pipeline = MotionPipeline(settings: .shakesOnly)
        var expected: [GestureEvent] = []
        for sample in samples { pipeline.process(sample) { expected.append($0) } }
        #expect(expected.map(\.phase) == [.began, .ended])

        try manager.start(with: device)
        try manager.simulate(SimulatedMovement("shake"))
        #expect(await eventually { simulated.count >= 1 })
        device.feed(samples)
        #expect(await eventually { real.count == 2 })
        #expect(real == expected)
        #expect(await hasEnded())
        #expect(await eventually { simulated.count == 2 })
        #expect(simulated.map(\.phase) == [.began, .ended])
        #expect(real == expected)
    }

    @Test func refusesSecondSimulation() async throws {
        manager.settings.gestures.motion.common.isEnabled = true
        try manager.start(with: device)
        // A walk lasts long enough even on a busy machine.
        try manager.simulate(SimulatedMovement("walk", seconds: 300))
        let tap = try SimulatedMovement("tap")
        #expect(throws: SimulationError.busy("walk")) { try manager.simulate(tap) }
        #expect(await eventually { simulated.count == 1 })
        #expect(throws: SimulationError.busy("walk")) { try manager.simulate(tap) }
        manager.stopSimulation()
        #expect(await eventually { simulated.map(\.phase) == [.began, .cancelled] })
        #expect(simulated.last?.reason == .stopped)
        try manager.simulate(tap)
        #expect(manager.simulatedMovement == tap)
    }

    @Test func repeatsGesture() async throws {
        try manager.start(with: device)
        try manager.simulate(SimulatedMovement("gentle-shake", count: 2))
        #expect(await hasEnded())
        #expect(await eventually { events.count == 4 })
        #expect(simulated.map(\.phase) == [.began, .ended, .began, .ended])
    }

    /// A movement that is almost a gesture says so, marked, while somebody wants to know.
    @Test func nearMissesAreReportedAndMarked() async throws {
        manager.settings.gestures.shake.common.sensitivity = 1
        let misses = Journal<NearMiss>()
        let token = manager.addNearMissHandler { misses.append($0) }
        try manager.start(with: device)
        try manager.simulate(SimulatedMovement("gentle-shake"))
        #expect(await hasEnded())
        #expect(await eventually { misses.count >= 1 })
        let miss = try #require(misses.entries.last { $0.gesture == .shake })
        #expect(miss.isSimulated && miss.reason == .tooWeak && miss.value < miss.limit)
        #expect(simulated.isEmpty)

        token.remove()
        let before = misses.count
        try manager.simulate(SimulatedMovement("gentle-shake"))
        #expect(await hasEnded())
        #expect(misses.count == before)
    }

    /// As when the agent ends during a simulation: the handlers have received the end when stop returns.
    @Test func stopCancelsSimulation() async throws {
        // A walk lasts long enough even on a busy machine.
        manager.settings.gestures.motion.common.isEnabled = true
        for _ in 0..<2 {
            let before = events.count
            try manager.start(with: ScriptedDevice())
            try manager.simulate(SimulatedMovement("walk", seconds: 300))
            #expect(await eventually { events.count == before + 1 })
            manager.stop()
            #expect(events.entries.suffix(2).map(\.phase) == [.began, .cancelled])
            #expect(events.entries.last?.reason == .stopped && events.entries.last?.isSimulated == true)
            #expect(events.count == before + 2)
            #expect(manager.simulatedMovement == nil)
        }
    }

    @Test func handlerMayStopManager() async throws {
        manager.addRecognizer(.shake) { [weak manager] event in
            if event.phase == .began { manager?.stop() }
            return .passOn
        }
        try manager.start(with: device)
        try manager.simulate(SimulatedMovement("shake"))
        #expect(await eventually { events.count == 2 })
        #expect(events.entries.map(\.phase) == [.began, .cancelled])
        #expect(!manager.isRunning)
    }

    @Test func appliesSettingsAndTheirChanges() async throws {
        manager.settings.gestures.shake.common.isEnabled = false
        try manager.start(with: device)
        try manager.simulate(SimulatedMovement("shake"))
        #expect(await hasEnded())
        #expect(events.count == 0)

        manager.settings.gestures.motion.common.isEnabled = true
        try manager.simulate(SimulatedMovement("walk", seconds: 300))
        #expect(await eventually { events.count == 1 })
        manager.settings.gestures.motion.common.isEnabled = false
        #expect(await eventually { events.count == 2 })
        #expect(simulated.map(\.phase) == [.began, .cancelled])
        #expect(simulated.last?.reason == .disabled)
        manager.stopSimulation()
        #expect(events.count == 2)
    }

    /// The body moves: a movement along x stays along x, however the sensor is mounted.
    @Test func ignoresMounting() async throws {
        manager.settings.mount = Matrix3(Vector3(0, 1, 0), Vector3(0, 0, 1), Vector3(1, 0, 0))
        try manager.start(with: device)
        try manager.simulate(SimulatedMovement("shake"))
        #expect(await eventually { events.count == 2 })
        #expect(simulated.last?.axis == .x)
    }

    /// Users try automations especially while the sensor does not work. Its loss cancels only real gestures.
    @Test func worksWhileSensorIsLost() async throws {
        device.feed(Movement.openShake())
        try manager.start(with: device)
        #expect(await eventually { real.count == 1 })
        try manager.simulate(SimulatedMovement("shake"))
        #expect(await eventually { simulated.count >= 1 })
        device.emit(.failed(.stalled))
        #expect(await eventually { real.count == 2 })
        #expect(real.last?.phase == .cancelled && real.last?.reason == .sensorLost)
        #expect(await hasEnded())
        #expect(await eventually { simulated.count == 2 })
        #expect(simulated.last?.phase == .ended)
    }

    @Test func requiresRunningManager() throws {
        let shake = try SimulatedMovement("shake")
        #expect(throws: SimulationError.notRunning) { try manager.simulate(shake) }
        #expect(manager.simulatedMovement == nil)
    }
}

/// Requirement: a simulation is one movement after rest, with a limited duration.
@Suite struct SimulatedMovementTests {
    private func failure(_ name: String, count: Int = 1, seconds: Double? = nil) -> SimulationError? {
        do throws(SimulationError) {
            _ = try SimulatedMovement(name, count: count, seconds: seconds)
            return nil
        } catch {
            return error
        }
    }

    @Test func everyMovementIsBounded() throws {
        for (name, _) in SimulatedMovement.known {
            let movement = try SimulatedMovement(name)
            #expect(movement.duration >= SimulationPlan.settling)
            #expect(movement.duration <= SimulatedMovement.maximumDuration)
            let plan = movement.plan
            #expect(plan.start >= SimulationPlan.quiet && plan.end >= plan.start, "\(name)")
            #expect(plan.trajectory.duration.isFinite, "\(name)")
            for time in [0.0, 0.5 * plan.start, plan.start, plan.trajectory.duration + 1, 1000] {
                let motion = plan.trajectory.motion(at: time)
                #expect(motion.rotationRate.length < 1e-6 && motion.acceleration.length < 1e-6, "\(name) at \(time)")
            }
        }
    }

    /// Of 2 s of rest, 1.2 s of shaking and 1.8 s of rest, only the movement counts, and it begins at once.
    @Test func removesPausesAroundMovement() throws {
        let plan = try SimulatedMovement("shake").plan
        #expect(abs(plan.start - 8) < 0.01 && abs(plan.end - plan.start - 1.2) < 0.02)
        #expect(plan.trajectory.motion(at: plan.start + 0.13).acceleration.length > 1)
        let twice = try SimulatedMovement("shake", count: 2).plan
        #expect(abs(twice.end - twice.start - 6.2) < 0.02)
        #expect(twice.trajectory.motion(at: twice.start + 5.13).acceleration.length > 1)
    }

    @Test func endsEndlessMovementAfterDuration() throws {
        let plan = try SimulatedMovement("walk", seconds: 3).plan
        #expect(abs(plan.end - plan.start - 3) < 0.01)
        #expect(plan.trajectory.motion(at: plan.end - 0.1).acceleration.length > 0.1)
        #expect(plan.trajectory.motion(at: plan.end + 0.1).acceleration.length < 1e-9)
    }

    @Test func reportsImpossibleRequests() throws {
        guard case .unknownMovement("moonwalk", let known) = failure("moonwalk") else {
            throw Unexpected("moonwalk is known")
        }
        #expect(known == SimulatedMovement.known.map(\.name))
        #expect(failure("tap", count: 0) == .badCount(0))
        #expect(failure("tap", count: 21) == .badCount(21))
        #expect(failure("tap", seconds: 3) == .endsByItself("tap"))
        #expect(failure("walk", count: 2) == .endless("walk"))
        #expect(failure("walk", seconds: 0.5) == .badLength(0.5))
        #expect(failure("walk", seconds: 601) == .badLength(601))
        guard case .badLength = failure("walk", seconds: .nan) else { throw Unexpected("not a number is a length") }
        guard case .tooLong("machine", count: 20, let seconds) = failure("machine", count: 20) else {
            throw Unexpected("twenty washing cycles fit")
        }
        #expect(seconds > SimulatedMovement.maximumDuration)
    }
}
