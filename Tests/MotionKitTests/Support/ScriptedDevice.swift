import BrokerTestSupport
import IMUDrivers
import LinuxSensors
import MotionCore
import MotionKit
import Synchronization

/// A sensor that follows a script: each poll takes one step, or does nothing if there is none.
final class ScriptedDevice: SensorDevice {
    enum Step {
        /// Samples. Those that do not fit into the batch stay for the next poll.
        case samples([MotionSample])
        /// An event to report.
        case event(SensorEvent)
        /// A transaction that does not return before the gate opens.
        case stuck(Gate)
    }

    private struct State {
        var steps: [Step] = []
        var status = IMUStatus()
        var stops = 0
        var users = 0
        var mostUsers = 0

        /// Takes the next step, or as many of its samples as there is room for, and counts them.
        mutating func nextStep(room: Int) -> Step? {
            guard !steps.isEmpty else { return nil }
            let step = steps.removeFirst()
            switch step {
            case .samples(let samples):
                if samples.count > room { steps.insert(.samples(Array(samples.dropFirst(room))), at: 0) }
                status.samples += UInt64(min(room, samples.count))
                status.state = .streaming
                return .samples(Array(samples.prefix(room)))
            case .event(.failed(let fault)):
                status.state = .recovering
                status.lastFault = fault
            case .event, .stuck:
                break
            }
            return step
        }
    }

    private let state = Mutex(State())
    private let stopFailure: BusError?
    let title = "scripted sensor"
    let storageName = "scripted"
    let isSimulated: Bool
    let info = IMUInfo(
        name: "SCRIPT", identity: 0x42, nominalRate: 200, accelerometerRange: 78, gyroscopeRange: 35, bandwidth: 98)

    init(_ steps: [Step] = [], isSimulated: Bool = false, stopFailure: BusError? = nil) {
        self.isSimulated = isSimulated
        self.stopFailure = stopFailure
        state.withLock { $0.steps = steps }
    }

    // MARK: For the test

    func feed(_ samples: [MotionSample]) { state.withLock { $0.steps.append(.samples(samples)) } }
    func emit(_ event: SensorEvent) { state.withLock { $0.steps.append(.event(event)) } }
    func block(at gate: Gate) { state.withLock { $0.steps.append(.stuck(gate)) } }

    /// Whether all steps were taken.
    var isExhausted: Bool { state.withLock { $0.steps.isEmpty } }
    /// The number of times it was put to sleep.
    var stops: Int { state.withLock { $0.stops } }
    /// The maximum number of threads that were in it at once.
    var mostUsers: Int { state.withLock { $0.mostUsers } }

    // MARK: SensorDevice

    var status: IMUStatus { state.withLock { $0.status } }

    func poll(into batch: inout SampleBatch) -> IMUPoll {
        let room = batch.capacity - batch.count
        let step = state.withLock { state in
            state.users += 1
            state.mostUsers = max(state.mostUsers, state.users)
            return state.nextStep(room: room)
        }
        defer { state.withLock { $0.users -= 1 } }
        var event = SensorEvent.none
        switch step {
        case .samples(let samples): for sample in samples { batch.append(sample) }
        case .event(let told): event = told
        case .stuck(let gate): gate.pass()
        case nil: break
        }
        let now = SystemClock().now()
        return IMUPoll(next: isExhausted ? now.advanced(bySeconds: 0.001) : now, event: event)
    }

    func stop() throws(BusError) {
        state.withLock { state in
            state.stops += 1
            state.status.state = .asleep
        }
        if let stopFailure { throw stopFailure }
    }
}
