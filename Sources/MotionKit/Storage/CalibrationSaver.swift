internal import LinuxSystem
internal import MotionCore
internal import StateStorage
internal import Synchronization

/// The calibration of the running chip: updates it from rests and movement, and saves it.
final class CalibrationSaver: Sendable {
    private struct State {
        var calibration: StoredCalibration
        /// Estimates scale and misalignment beyond the calibration of this revision.
        var scaleLearner: ScaleLearner
        var revision = 0
        /// The calibration as it was last given to the writer, which retries until it is on the disk.
        var saved: StoredCalibration
        /// When it may be saved again: every write wears out a card.
        var nextSave: Timestamp?
        /// The number of writes requested, and the result of the latest attempt.
        var writes = 0
        var attempt: (write: Int, result: Result<Void, SystemFailure>)?
        /// Woken after an attempt.
        var waiting: WakeSignal?

        init(_ calibration: StoredCalibration) {
            self.calibration = calibration
            saved = calibration
            scaleLearner = ScaleLearner(kept: calibration.learntScale)
        }

        /// The calibration for the sensor thread.
        var change: CalibrationChange {
            CalibrationChange(
                chip: calibration.effective, learntScale: scaleLearner.prior, magnetometer: calibration.magnetometer,
                revision: revision)
        }

        /// Whether the estimates may be saved again.
        mutating func isSaveDue(at time: Timestamp) -> Bool {
            if let nextSave, time < nextSave { return false }
            defer { nextSave = time.advanced(bySeconds: CalibrationSaver.saveInterval) }
            return nextSave != nil
        }
    }

    /// Seconds between two writes of the estimates.
    static let saveInterval = 600.0

    /// Seconds to wait for the disk in `save`.
    private static let timeout = 10.0

    private let store: CalibrationStore?
    private let name: String
    private let writer: StateWriter
    private let state: Locked<State>
    /// Held by the caller that waits for the disk: one at a time.
    private let waitingTurn = Mutex(())
    /// Keeps writes in the order of their calibrations. Not the state's lock, which the writer needs when it has finished.
    private let writing = Mutex(())

    /// Why the stored calibration cannot be used; `nil` if it can, or if there is none.
    let warning: CalibrationStoreError?

    /// Loads the calibration of a chip; without a store nothing is loaded or saved.
    init(store: CalibrationStore?, name: String, writer: StateWriter) {
        self.store = store
        self.name = name
        self.writer = writer
        var warning: CalibrationStoreError?
        var calibration = StoredCalibration()
        do {
            calibration = try store?.load(name, pendingIn: writer) ?? calibration
        } catch {
            warning = error
        }
        self.warning = warning
        state = Locked(State(calibration))
    }

    var calibration: StoredCalibration { state.withLock { $0.calibration } }

    /// The calibration for the sensor thread at its start.
    var change: CalibrationChange { state.withLock { $0.change } }

    // MARK: Another calibration

    /// Replaces the calibration; `save` saves it.
    ///
    /// - Returns: the new calibration for the sensor thread.
    func set(_ calibration: StoredCalibration) -> CalibrationChange {
        state.withLock { state in
            state.calibration = calibration
            state.scaleLearner = ScaleLearner(kept: calibration.learntScale)
            state.revision += 1
            return state.change
        }
    }

    /// Saves the calibration, or removes the file if the calibration is empty, and waits until that is on the disk.
    ///
    /// - Throws: `notWritten`; the writer goes on trying.
    func save() throws(CalibrationStoreError) {
        guard let store else { return }
        let failure = waitingTurn.withLock { _ -> SystemFailure? in
            let signal = WakeSignal()
            state.withLock { $0.waiting = signal }
            defer { state.withLock { $0.waiting = nil } }
            let number = write(to: store)
            return signal.map { wait(for: number, $0) } ?? .noResources
        }
        if let failure { throw CalibrationStoreError.notWritten(path: store.path(of: name), failure) }
    }

    /// Gives the calibration to the writer; does not wait for the disk.
    ///
    /// - Returns: the number of the write.
    @discardableResult
    private func write(to store: CalibrationStore) -> Int {
        writing.withLock { _ in
            let (calibration, number) = state.withLock { state in
                state.writes += 1
                state.saved = state.calibration
                return (state.calibration, state.writes)
            }
            writer.write(store.contents(of: calibration), to: store.path(of: name)) { [weak self] result in
                self?.attempted(number, result)
            }
            return number
        }
    }

    private func attempted(_ write: Int, _ result: Result<Void, SystemFailure>) {
        state.withLock { state in
            state.attempt = (write, result)
            return state.waiting
        }?.signal()
    }

    /// Waits for the result of a write, or of a later one that replaced it.
    private func wait(for number: Int, _ signal: WakeSignal) -> SystemFailure? {
        let deadline = ContinuousClock.now + .seconds(CalibrationSaver.timeout)
        while true {
            let result = state.withLock { state in
                state.attempt.flatMap { $0.write >= number ? $0.result : nil }
            }
            switch result {
            case .success: return nil
            case .failure(let failure): return failure
            case nil: break
            }
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .timedOut }
            signal.wait(seconds: left / .seconds(1))
        }
    }

    // MARK: Estimates

    /// Updates the bias from a rest, and saves from time to time.
    func learn(from report: RestReport) {
        let isTime = state.withLock { state in
            state.calibration.biasLine.learn(bias: report.bias, temperature: report.temperature)
            return state.isSaveDue(at: report.time)
        }
        if isTime { saveIfChanged() }
    }

    /// Updates the gyroscope's scale from movement, and saves from time to time.
    func learn(from report: ScaleReport) {
        let isTime = state.withLock { state in
            guard report.revision == state.revision else { return false }
            if state.scaleLearner.learn(report.estimate) { state.calibration.learntScale = state.scaleLearner.kept }
            return state.isSaveDue(at: report.time)
        }
        if isTime { saveIfChanged() }
    }

    /// Saves the estimates if they have changed noticeably since the last write.
    func saveIfChanged() {
        guard let store else { return }
        let isNoticeable = state.withLock { state in
            Self.isNoticeable(state.saved.biasLine, state.calibration.biasLine)
                || Self.isNoticeable(state.saved.learntScale, state.calibration.learntScale)
        }
        if isNoticeable { write(to: store) }
    }
}

// Changes that are worth a write.
extension CalibrationSaver {
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

/// The calibration that the pipeline uses, and what its attitude filter starts with.
struct CalibrationChange: Sendable {
    var chip = ChipCalibration()
    /// Scale and misalignment of the gyroscope beyond `chip`, along the sensor's axes.
    var learntScale: ScaleEstimate?
    /// The errors of the magnetometer; `nil` if it was not calibrated.
    var magnetometer: MagneticCalibration?
    /// Counts the calibrations of a run. A scale estimated with one calibration does not apply to another.
    var revision = 0
}

/// The gyroscope's bias during a rest.
struct RestReport: Sendable, BitwiseCopyable {
    /// The whole bias, rad/s, sensor axes.
    var bias: Vector3
    /// The chip's temperature, °C.
    var temperature: Double
    var time: Timestamp
}

/// The present estimate of the gyroscope's scale and misalignment.
struct ScaleReport: Sendable, BitwiseCopyable {
    /// Beyond the calibration, sensor axes.
    var estimate: ScaleEstimate
    /// The `CalibrationChange.revision` that it belongs to.
    var revision: Int
    var time: Timestamp
}
