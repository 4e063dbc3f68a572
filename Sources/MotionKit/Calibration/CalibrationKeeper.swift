internal import MotionCore
internal import Synchronization

/// What a rest told of the gyroscope.
struct RestReport: Sendable, BitwiseCopyable {
    /// Its whole bias, rad/s, sensor axes.
    var bias: Vector3
    /// The chip's temperature, °C.
    var temperature: Double
    var time: Timestamp
}

/// The calibration of the chip that runs: what is in force, what rests teach, and what is kept of it.
final class CalibrationKeeper: Sendable {
    private struct State {
        var calibration: StoredCalibration
        /// The bias line as it is kept, and when it may be kept again: a card wears out with every write.
        var keptLine: BiasTemperatureLine
        var nextSave: Timestamp?
    }

    /// Seconds between two writes of what rests taught.
    static let saveInterval = 600.0

    /// Change of the bias that is worth a write, rad/s: 0.02 °/s.
    private static let noticeableBias = 0.02 * radiansPerDegree

    private let store: CalibrationStore?
    private let name: String
    private let state: Mutex<State>

    /// Why the calibration that is kept cannot be used; `nil` where it can or there is none.
    let warning: CalibrationStoreError?

    /// Loads what is kept of a chip.
    init(store: CalibrationStore?, name: String) {
        self.store = store
        self.name = name
        var warning: CalibrationStoreError?
        var calibration = StoredCalibration()
        do throws(CalibrationStoreError) {
            calibration = try store?.load(name) ?? calibration
        } catch {
            warning = error
        }
        self.warning = warning
        state = Mutex(State(calibration: calibration, keptLine: calibration.biasLine))
    }

    var calibration: StoredCalibration { state.withLock { $0.calibration } }

    /// Takes over another calibration and keeps it.
    func set(_ calibration: StoredCalibration) throws(CalibrationStoreError) {
        state.withLock { state in
            state.calibration = calibration
            state.keptLine = calibration.biasLine
        }
        if calibration.isEmpty { try store?.remove(name) } else { try store?.save(calibration, as: name) }
    }

    /// Learns from a rest, and keeps what was learnt from time to time.
    func learn(from report: RestReport) {
        let isTime = state.withLock { state in
            state.calibration.biasLine.learn(bias: report.bias, temperature: report.temperature)
            guard let next = state.nextSave else {
                state.nextSave = report.time.advanced(bySeconds: Self.saveInterval)
                return false
            }
            guard report.time >= next else { return false }
            state.nextSave = report.time.advanced(bySeconds: Self.saveInterval)
            return true
        }
        if isTime { keepWhatChanged() }
    }

    /// Keeps what was learnt since the last write, where it is worth one.
    func keepWhatChanged() {
        guard let store else { return }
        let changed = state.withLock { state -> StoredCalibration? in
            guard Self.isNoticeable(state.keptLine, state.calibration.biasLine) else { return nil }
            state.keptLine = state.calibration.biasLine
            return state.calibration
        }
        guard let changed else { return }
        // What cannot be kept is learnt again; the next rests are another try.
        do throws(CalibrationStoreError) { try store.save(changed, as: name) } catch {}
    }

    private static func isNoticeable(_ old: BiasTemperatureLine, _ new: BiasTemperatureLine) -> Bool {
        guard new.hasBias else { return false }
        guard old.hasBias else { return true }
        let low = new.lowestTemperature
        let high = new.highestTemperature
        return (new.bias(at: low) - old.bias(at: low)).length > noticeableBias
            || (new.bias(at: high) - old.bias(at: high)).length > noticeableBias
            || low < old.lowestTemperature - 1 || high > old.highestTemperature + 1
    }
}
