import BrokerTestSupport
import Foundation
import IMUDrivers
import MotionCore
import Synchronization
import Testing

@testable import MotionKit

/// Starting and stopping from any thread, repeatedly.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerLifecycleTests {
    private let rig = Rig()

    @Test func hasNoStateBeforeStartAndAfterStop() async throws {
        let manager = rig.manager(sensor: .virtual("rest"))
        func expectNothing() {
            #expect(!manager.isRunning)
            #expect(manager.state == nil)
            #expect(manager.attitude == nil)
            #expect(manager.sensorStatus == nil)
            #expect(manager.sensorInfo == nil)
            #expect(manager.sensorTitle == nil)
            #expect(manager.isSimulated == nil)
            #expect(manager.loopCount == 0)
            #expect(manager.droppedDeliveries == 0)
        }
        expectNothing()
        manager.stop()
        expectNothing()

        let device = try manager.start(feeding: Movement.rest(1))
        #expect(manager.isRunning)
        #expect(manager.sensorTitle == "scripted sensor")
        #expect(manager.isSimulated == false)
        #expect(await eventually { manager.sensorStatus?.samples == 200 })
        #expect(manager.sensorInfo?.identity == 0x42)
        #expect(manager.state?.timestamp == Timestamp(seconds: 100.995))
        let turns = manager.loopCount
        #expect(await eventually { manager.loopCount > turns })
        manager.stop()
        expectNothing()
        #expect(device.stops == 1)
    }

    @Test func ignoresSecondStart() async throws {
        let manager = rig.manager(sensor: .virtual("no such trajectory"))
        let device = ScriptedDevice()
        let other = ScriptedDevice()
        try manager.start(with: device)
        try manager.start(with: other)
        // It must not even open the sensor: a chip in use would refuse that.
        try await manager.start()
        #expect(manager.isRunning)
        manager.stop()
        #expect(device.stops == 1)
        #expect(other.stops == 0)
        #expect(throws: SensorError.self) { try manager.start() }
    }

    /// The stack of a thread that was neither joined nor detached is never freed: 8 MiB of address space each.
    @Test func asynchronousStartsLeaveNoThreads() async throws {
        func addressSpace() throws -> Int {
            let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ").first
            return try #require(pages.flatMap { Int($0) }) * sysconf(Int32(_SC_PAGESIZE))
        }
        let manager = MotionManager(sensor: .virtual("no such trajectory"))
        let before = try addressSpace()
        for _ in 1...300 {
            await #expect(throws: SensorError.self) { try await manager.start() }
        }
        #expect(try addressSpace() - before < 1 << 30)
    }

    @Test func startsAndStopsRepeatedly() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let phases = Journal<GesturePhase>()
        manager.addRecognizer(.shake, into: phases, .consume) { $0.phase }
        for round in 1...5 {
            let device = try manager.start(feeding: Movement.wholeShake())
            #expect(await eventually { phases.count == 2 * round })
            manager.stop()
            #expect(device.stops == 1)
            #expect(phases.entries.suffix(2) == [.began, .ended])
        }
    }

    /// Open gestures are cancelled, and handlers have received that when stop returns.
    @Test func stopCancelsOpenGestures() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = manager.gestureJournal()
        try manager.start(with: ScriptedDevice([.samples(Movement.openShake())]))
        #expect(await eventually { events.count == 1 })
        manager.stop()
        #expect(events.entries.map(\.phase) == [.began, .cancelled])
        #expect(events.entries.last?.reason == .stopped)
    }

    @Test func stopsFromHandler() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = Journal<GestureEvent>()
        let isBack = Flag()
        manager.addRecognizer(.shake) { [weak manager] event in
            events.append(event)
            if event.phase == .began {
                manager?.stop()
                isBack.set()
            }
            return .passOn
        }
        let device = try manager.start(feeding: Movement.openShake())
        #expect(await eventually { isBack.isSet && events.count == 2 })
        #expect(!manager.isRunning)
        #expect(device.stops == 1)
        #expect(events.entries.map(\.phase) == [.began, .cancelled])
        #expect(events.entries.last?.reason == .stopped)
    }

    /// Handlers of the new run wait until those of the old run have received everything: one at a time, in order.
    @Test func restartsFromHandler() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let received = Journal<String>()
        let inside = Atomic<Int>(0)
        let overlaps = Counter()
        var again = Movement()
        let second = ScriptedDevice([.samples(again.wholeShake())])
        let hasRestarted = Flag()
        manager.addRecognizer(.shake) { [weak manager] event in
            if inside.add(1, ordering: .relaxed).newValue > 1 { overlaps.countUp() }
            defer { inside.subtract(1, ordering: .relaxed) }
            received.append("\(event.phase)")
            guard event.phase == .began, !hasRestarted.isSet else { return .consume }
            hasRestarted.set()
            manager?.stop()
            do { try manager?.start(with: second) } catch { received.append("\(error)") }
            // The second run has processed its samples before this handler returns.
            if !eventuallyBlocking({ second.isExhausted }) { received.append("stuck") }
            return .consume
        }
        try manager.start(with: ScriptedDevice([.samples(Movement.openShake())]))
        #expect(await eventually { received.count >= 4 })
        #expect(received.entries == ["began", "cancelled", "began", "ended"])
        #expect(overlaps.value == 0)
        #expect(manager.isRunning)
    }

    @Test func deinitStopsManager() async throws {
        let device = ScriptedDevice()
        let state = Mutex<MotionManager?>(MotionManager(settings: .shakesOnly))
        try state.withLock { try $0?.start(with: device) }
        #expect(await eventually { device.status.state == .asleep })
        state.withLock { $0 = nil }
        #expect(device.stops == 1)
    }

    /// Threads start, stop and change settings at random: no crash, no deadlock, and every gesture ends.
    @Test func survivesConcurrentUse() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let phases = Journal<GesturePhase>()
        manager.setDefaultResponder { phases.append($0.phase) }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<3 {
                group.addTask {
                    for round in 0..<15 {
                        do {
                            try manager.start(with: ScriptedDevice([.samples(Movement.openShake())]))
                        } catch {
                            // Another thread is about to stop the last run.
                            guard case .stillStopping = error as? SensorError else {
                                Issue.record("\(error)")
                                return
                            }
                        }
                        manager.settings.attitudeLowPass = Double(round)
                        manager.updateInterval = 0.1 * Double(number)
                        // Another thread may have stopped it meanwhile.
                        do { try manager.takeReference() } catch { continue }
                        manager.addMotionHandler { _ in }.remove()
                        await Task.yield()
                        manager.stop()
                    }
                }
            }
        }
        manager.stop()
        #expect(!manager.isRunning)
        // A concurrent second stop does not wait for the first.
        #expect(await eventually { phases.count % 2 == 0 })
        for (index, phase) in phases.entries.enumerated() {
            #expect(phase == (index % 2 == 0 ? .began : .cancelled))
        }
    }
}

/// Sensor faults are reported and survived, and stop waits at most half a second for each thread.
@Suite(.timeLimit(.minutes(1))) struct MotionManagerFaultTests {
    private let rig = Rig()

    @Test func lostSensorCancelsOpenGestures() async throws {
        let manager = rig.manager(settings: .shakesOnly)
        let received = Journal<String>()
        let events = Journal<GestureEvent>()
        manager.addRecognizer(.shake) { event in
            received.append("\(event.phase)")
            events.append(event)
            return .consume
        }
        manager.addSensorHandler { event, _ in
            if case .failed = event { received.append("failed") }
        }
        let fault = IMUFault.bus(BusError(.notAcknowledged, code: ENXIO))
        var movement = Movement()
        let device = ScriptedDevice([.samples(movement.openShake()), .event(.failed(fault))])
        try manager.start(with: device)
        #expect(await eventually { received.count == 3 })
        #expect(received.entries == ["began", "cancelled", "failed"])
        #expect(events.entries.last?.reason == .sensorLost)
        #expect(manager.isRunning)
        #expect(await eventually { manager.sensorStatus?.lastFault == fault })

        // After the return, gestures are recognised as before.
        device.feed(movement.rest(3) + movement.shake(1.2) + movement.rest(1))
        #expect(await eventually { received.count == 5 })
        #expect(received.entries.suffix(2) == ["began", "ended"])
    }

    /// The driver's events arrive in order, with the time at which they were reported.
    @Test func deliversDriverEventsInOrder() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = Journal<SensorEvent>()
        let times = Journal<Timestamp>()
        manager.addSensorHandler { event, time in
            events.append(event)
            times.append(time)
        }
        let told: [SensorEvent] = [
            .streaming(afterGap: 0), .gap(0.25, .overflow), .failed(.stalled), .streaming(afterGap: 1.5),
        ]
        let start = monotonicSeconds()
        try manager.start(with: ScriptedDevice(told.map { .event($0) }))
        #expect(await eventually { events.count == told.count })
        manager.stop()
        #expect(events.entries == told)
        #expect(times.entries == times.entries.sorted())
        #expect(times.entries.allSatisfy { $0.seconds >= start && $0.seconds <= monotonicSeconds() })
    }

    /// If a transaction does not return, stop abandons its thread, and the open gesture still ends.
    @Test func stopAbandonsStuckTransaction() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = manager.gestureJournal()
        let gate = Gate()
        defer { gate.open() }
        let device = ScriptedDevice([.samples(Movement.openShake()), .stuck(gate)])
        try manager.start(with: device)
        #expect(await eventually { gate.arrivals == 1 && events.count == 1 })
        let turns = manager.loopCount

        let start = monotonicSeconds()
        manager.stop()
        // Half a second for each of two threads, plus a margin for a loaded machine.
        #expect(monotonicSeconds() - start < 5)
        #expect(!manager.isRunning)
        #expect(events.entries.map(\.phase) == [.began, .cancelled])
        #expect(events.entries.last?.reason == .stopped)
        #expect(device.stops == 0)
        #expect(turns > 0)

        // Two threads must never be in one driver.
        #expect(throws: SensorError.self) { try manager.start(with: device) }
        #expect(!manager.isRunning)

        gate.open()
        #expect(await eventually { device.stops == 1 })
        #expect(await eventually { (try? manager.start(with: device)) != nil })
        #expect(manager.isRunning)
        manager.stop()
        #expect(device.mostUsers == 1)
        #expect(events.count == 2)
    }

    /// A handler that does not return is abandoned, too, and receives the remaining events after it has returned.
    @Test func stopAbandonsStuckHandler() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = Journal<GestureEvent>()
        let gate = Gate()
        defer { gate.open() }
        manager.setDefaultResponder { event in
            events.append(event)
            if event.phase == .began { gate.pass() }
        }
        let device = try manager.start(feeding: Movement.openShake())
        #expect(await eventually { gate.arrivals == 1 })
        manager.stop()
        #expect(device.stops == 1)
        #expect(events.count == 1)
        gate.open()
        #expect(await eventually { events.count == 2 })
        #expect(events.entries.last?.reason == .stopped)
    }

    @Test func reportsFailureToPutChipToSleep() async throws {
        let manager = MotionManager(settings: .shakesOnly)
        let events = manager.sensorJournal()
        let failure = BusError(.timedOut, code: ETIMEDOUT)
        try manager.start(with: ScriptedDevice(stopFailure: failure))
        manager.stop()
        #expect(events.entries == [.failed(.bus(failure))])
    }
}
