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

/// What is known by now of the gyroscope's scale and misalignment.
struct ScaleReport: Sendable, BitwiseCopyable {
    /// Beyond the calibration, sensor axes.
    var estimate: ScaleEstimate
    /// Beyond which of the calibrations that were in force in this run.
    var revision: Int
    var time: Timestamp
}

/// The calibration of the chip that runs: what is in force, what rests and movement teach, and what is kept of it.
final class CalibrationKeeper: Sendable {
    private struct State {
        var calibration: StoredCalibration
        /// What movement teaches beyond the calibration of this revision.
        var scaleLearner: ScaleLearner
        var revision = 0
        /// The calibration as it is kept, and when it may be kept again: a card wears out with every write.
        var kept: StoredCalibration
        var nextSave: Timestamp?

        init(_ calibration: StoredCalibration) {
            self.calibration = calibration
            kept = calibration
            scaleLearner = ScaleLearner(kept: calibration.learntScale)
        }

        /// What the sensor thread is to work with.
        var order: CalibrationOrder {
            CalibrationOrder(chip: calibration.effective, learntScale: scaleLearner.prior, revision: revision)
        }

        /// Whether it is time to keep what was learnt.
        mutating func isSaveDue(at time: Timestamp) -> Bool {
            if let nextSave, time < nextSave { return false }
            defer { nextSave = time.advanced(bySeconds: CalibrationKeeper.saveInterval) }
            return nextSave != nil
        }
    }

    /// Seconds between two writes of what was learnt.
    static let saveInterval = 600.0

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
        state = Mutex(State(calibration))
    }

    var calibration: StoredCalibration { state.withLock { $0.calibration } }

    /// What the sensor thread is to begin with.
    var order: CalibrationOrder { state.withLock { $0.order } }

    // MARK: Another calibration

    /// Takes over another calibration; `keep` keeps it.
    ///
    /// - Returns: what the sensor thread is to go on with.
    func set(_ calibration: StoredCalibration) -> CalibrationOrder {
        state.withLock { state in
            state.calibration = calibration
            state.scaleLearner = ScaleLearner(kept: calibration.learntScale)
            state.revision += 1
            return state.order
        }
    }

    /// Keeps the calibration as it is, or forgets what is kept where nothing is known.
    func keep() throws(CalibrationStoreError) {
        let calibration = state.withLock { state in
            state.kept = state.calibration
            return state.calibration
        }
        if calibration.isEmpty { try store?.remove(name) } else { try store?.save(calibration, as: name) }
    }

    // MARK: What is learnt

    /// Learns from a rest, and keeps what was learnt from time to time.
    func learn(from report: RestReport) {
        let isTime = state.withLock { state in
            state.calibration.biasLine.learn(bias: report.bias, temperature: report.temperature)
            return state.isSaveDue(at: report.time)
        }
        if isTime { keepWhatChanged() }
    }

    /// Learns from movement, and keeps what was learnt from time to time.
    func learn(from report: ScaleReport) {
        let isTime = state.withLock { state in
            guard report.revision == state.revision else { return false }
            if state.scaleLearner.learn(report.estimate) { state.calibration.learntScale = state.scaleLearner.kept }
            return state.isSaveDue(at: report.time)
        }
        if isTime { keepWhatChanged() }
    }

    /// Keeps what was learnt since the last write, where it is worth one.
    func keepWhatChanged() {
        guard let store else { return }
        let changed = state.withLock { state -> StoredCalibration? in
            let isNoticeable =
                Self.isNoticeable(state.kept.biasLine, state.calibration.biasLine)
                || Self.isNoticeable(state.kept.learntScale, state.calibration.learntScale)
            guard isNoticeable else { return nil }
            state.kept = state.calibration
            return state.calibration
        }
        guard let changed else { return }
        // What cannot be kept is learnt again; the next reports are another try.
        do throws(CalibrationStoreError) { try store.save(changed, as: name) } catch {}
    }
}

// What is worth a write.
extension CalibrationKeeper {
    /// Change of the bias, rad/s: 0.02 °/s.
    private static let noticeableBias = 0.02 * radiansPerDegree

    /// Change of an element of the scale: 0.02 %, a fifteenth of a degree in a full turn. Or its deviation has shrunk to less
    /// than this share.
    private static let noticeableScale = 0.0002
    private static let noticeableShare = 0.8

    private static func isNoticeable(_ old: BiasTemperatureLine, _ new: BiasTemperatureLine) -> Bool {
        guard new.hasBias else { return false }
        guard old.hasBias else { return true }
        let low = new.lowestTemperature
        let high = new.highestTemperature
        return (new.bias(at: low) - old.bias(at: low)).length > noticeableBias
            || (new.bias(at: high) - old.bias(at: high)).length > noticeableBias
            || low < old.lowestTemperature - 1 || high > old.highestTemperature + 1
    }

    private static func isNoticeable(_ old: ScaleEstimate?, _ new: ScaleEstimate?) -> Bool {
        guard let new else { return false }
        guard let old else { return true }
        let changes = zip(elements(of: new.scale), elements(of: old.scale))
        let doubts = zip(elements(of: new.deviation), elements(of: old.deviation))
        return changes.contains { abs($0 - $1) > noticeableScale } || doubts.contains { $0 < noticeableShare * $1 }
    }
}
