import BrokerTestSupport
import MotionCore
import Testing

@testable import MotionKit

/// A slow motion handler delays the others and starves none.
@Suite(.timeLimit(.minutes(1))) struct SlowHandlerTests {
    private let rig = Rig()

    /// Everything that was delivered, in order: "state", "shake began", "failed", …
    private let log = Journal<String>()
    private let states = Journal<MotionState>()

    private func manager(_ interval: Double, _ gate: Gate) -> MotionManager {
        let manager = rig.manager(settings: .shakesOnly, updateInterval: interval)
        manager.setDefaultResponder { [log] in log.append("\($0.gesture) \($0.phase)") }
        manager.addSensorHandler { [log] event, _ in if case .failed = event { log.append("failed") } }
        manager.addMotionHandler { [log, states] state in
            states.append(state)
            log.append("state")
            gate.pass()
        }
        return manager
    }

    @Test func gesturesAreDeliveredBeforeTheNextState() async throws {
        let gate = Gate()
        defer { gate.open() }
        let manager = manager(0.1, gate)
        var movement = Movement()
        let device = try manager.start(feeding: movement.rest(0.1))
        #expect(await eventually { gate.arrivals == 1 && device.isExhausted })
        device.feed(movement.wholeShake() + movement.rest(2) + movement.wholeShake())
        #expect(await eventually { device.isExhausted })
        device.emit(.failed(.stalled))
        #expect(await eventually { device.isExhausted && manager.sensorStatus?.state == .recovering })
        gate.open()
        #expect(await eventually { states.count >= 2 })
        #expect(
            log.entries.prefix(7) == [
                "state", "shake began", "shake ended", "shake began", "shake ended", "failed", "state",
            ])
    }

    @Test func handlerReceivesTheNewestStateOnly() async throws {
        let gate = Gate()
        defer { gate.open() }
        let manager = manager(0.1, gate)
        var movement = Movement()
        let device = try manager.start(feeding: movement.rest(0.1))
        #expect(await eventually { gate.arrivals == 1 && device.isExhausted })
        device.feed(movement.rest(4.9))
        #expect(await eventually { device.isExhausted })
        // The state of the last batch may be queued just after that.
        #expect(await eventually { manager.state.map { $0.timestamp.seconds > 104.99 } ?? false })
        gate.open()
        #expect(await eventually { (states.entries.last?.timestamp.seconds ?? 0) > 104.89 })
        #expect(states.count == 2)
    }

    @Test func handlerOfEveryStateMissesNoneAndGesturesComeBetween() async throws {
        let gate = Gate()
        defer { gate.open() }
        let manager = manager(0, gate)
        let shake = Movement.wholeShake()
        let device = try manager.start(feeding: Array(shake.prefix(30)))
        #expect(await eventually { gate.arrivals == 1 && device.isExhausted })
        gate.open()
        #expect(await eventually { states.count == 30 })
    }

    @Test func handlersHaveTheirOwnIntervals() {
        let handlers = MotionHandlers()
        let (quick, usual, slow) = (Counter(), Counter(), Counter())
        _ = handlers.add(interval: 0.1, onRemove: {}) { _ in quick.countUp() }
        _ = handlers.add(interval: nil, onRemove: {}) { _ in usual.countUp() }
        let token = handlers.add(interval: 1, onRemove: {}) { _ in slow.countUp() }
        #expect(handlers.takeIntervals(usual: 0.5, resting: 0).moving == 0.1)
        var state = MotionState()
        for index in 0..<100 {
            // Samples are not on the grid: each state is up to 4 ms late.
            state.timestamp = Timestamp(seconds: 50 + 0.1 * Double(index) + 0.001 * Double(index % 5))
            handlers.notify(state, isNewest: true)
        }
        #expect(quick.value == 100 && usual.value == 20 && slow.value == 10)
        handlers.notify(state, isNewest: false)
        #expect(quick.value == 100)
        token.remove()
        #expect(handlers.takeIntervals(usual: 0.05, resting: 0).moving == 0.05)
    }

    @Test func updateScheduleKeepsItsRateAndSurvivesGaps() {
        var schedule = UpdateSchedule()
        var due = 0
        for index in 0..<1000 where schedule.isDue(at: Timestamp(seconds: Double(index) * 0.0047), interval: 0.1) {
            due += 1
        }
        #expect(due == 47)
        let afterGap = schedule.isDue(at: Timestamp(seconds: 60), interval: 0.1)
        let tooSoon = schedule.isDue(at: Timestamp(seconds: 60.05), interval: 0.1)
        schedule = UpdateSchedule()
        let restarted = schedule.isDue(at: Timestamp(seconds: 60.06), interval: 0.1)
        #expect(afterGap && !tooSoon && restarted)
    }
}
