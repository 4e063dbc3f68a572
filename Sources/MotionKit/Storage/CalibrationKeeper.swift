internal import LinuxSystem
internal import MotionCore
internal import StateStorage
internal import Synchronization

/// The calibration of the chip that runs: what is in force, what rests and movement teach, and what is kept of it.
final class CalibrationKeeper: Sendable {
    private struct State {
        var calibration: StoredCalibration
        /// What movement teaches beyond the calibration of this revision.
        var scaleLearner: ScaleLearner
        var revision = 0
        /// The calibration as the writer has it, which tries until it is on the disk, and when it may be written again: a
        /// card wears out with every write.
        var kept: StoredCalibration
        var nextSave: Timestamp?
        /// Counts the writes that were ordered, and what the latest attempt came to.
        var writes = 0
        var attempt: (write: Int, result: Result<Void, SystemFailure>)?
        /// Rung after an attempt.
        var waiting: WakeSignal?

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

    /// The state behind a reference, touched under the lock only: Swift 6.0.3 crashes on a mutex around the state itself.
    private final class Shared: @unchecked Sendable {
        var value: State

        init(_ value: State) {
            self.value = value
        }
    }

    /// Seconds between two writes of what was learnt.
    static let saveInterval = 600.0

    /// Seconds for which the disk is waited for, and then left to itself.
    private static let patience = 10.0

    private let store: CalibrationStore?
    private let name: String
    private let writer: StateWriter
    private let state: Mutex<Shared>
    /// One waits at a time.
    private let turn = Mutex(())
    /// What is ordered last is the latest. Not the state's lock, which a writer that has finished needs at once.
    private let ordering = Mutex(())

    /// Why the calibration that is kept cannot be used; `nil` where it can or there is none.
    let warning: CalibrationStoreError?

    /// Loads what is kept of a chip; without a store nothing is.
    init(store: CalibrationStore?, name: String, writer: StateWriter) {
        self.store = store
        self.name = name
        self.writer = writer
        var warning: CalibrationStoreError?
        var calibration = StoredCalibration()
        do throws(CalibrationStoreError) {
            calibration = try store?.load(name, pendingIn: writer) ?? calibration
        } catch {
            warning = error
        }
        self.warning = warning
        state = Mutex(Shared(State(calibration)))
    }

    private func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0.value) }
    }

    var calibration: StoredCalibration { withState { $0.calibration } }

    /// What the sensor thread is to begin with.
    var order: CalibrationOrder { withState { $0.order } }

    // MARK: Another calibration

    /// Takes over another calibration; `keep` keeps it.
    ///
    /// - Returns: what the sensor thread is to go on with.
    func set(_ calibration: StoredCalibration) -> CalibrationOrder {
        withState { state in
            state.calibration = calibration
            state.scaleLearner = ScaleLearner(kept: calibration.learntScale)
            state.revision += 1
            return state.order
        }
    }

    /// Keeps the calibration as it is, or forgets what is kept if nothing is known, and waits until it is on the disk.
    ///
    /// - Throws: `notWritten`; it is then tried again without anybody waiting.
    func keep() throws(CalibrationStoreError) {
        guard let store else { return }
        let failure = turn.withLock { _ -> SystemFailure? in
            let signal = WakeSignal()
            withState { $0.waiting = signal }
            defer { withState { $0.waiting = nil } }
            let number = write(to: store)
            return signal.map { wait(for: number, $0) } ?? .noResources
        }
        if let failure { throw CalibrationStoreError.notWritten(path: store.path(of: name), failure) }
    }

    /// Orders the calibration to be written, which does not wait for the disk.
    ///
    /// - Returns: the number of the write.
    @discardableResult
    private func write(to store: CalibrationStore) -> Int {
        ordering.withLock { _ in
            let (calibration, number) = withState { state in
                state.writes += 1
                state.kept = state.calibration
                return (state.calibration, state.writes)
            }
            writer.write(store.contents(of: calibration), to: store.path(of: name)) { [weak self] result in
                self?.attempted(number, result)
            }
            return number
        }
    }

    private func attempted(_ write: Int, _ result: Result<Void, SystemFailure>) {
        withState { state in
            state.attempt = (write, result)
            return state.waiting
        }?.signal()
    }

    /// Waits for an attempt at a write or at one after it, which replaces it.
    private func wait(for number: Int, _ signal: WakeSignal) -> SystemFailure? {
        let deadline = ContinuousClock.now + .seconds(CalibrationKeeper.patience)
        while true {
            let result = withState { state in
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

    // MARK: What is learnt

    /// Learns from a rest, and keeps what was learnt from time to time.
    func learn(from report: RestReport) {
        let isTime = withState { state in
            state.calibration.biasLine.learn(bias: report.bias, temperature: report.temperature)
            return state.isSaveDue(at: report.time)
        }
        if isTime { keepWhatChanged() }
    }

    /// Learns from movement, and keeps what was learnt from time to time.
    func learn(from report: ScaleReport) {
        let isTime = withState { state in
            guard report.revision == state.revision else { return false }
            if state.scaleLearner.learn(report.estimate) { state.calibration.learntScale = state.scaleLearner.kept }
            return state.isSaveDue(at: report.time)
        }
        if isTime { keepWhatChanged() }
    }

    /// Keeps what was learnt since the last write, where it is worth one.
    func keepWhatChanged() {
        guard let store else { return }
        let isNoticeable = withState { state in
            Self.isNoticeable(state.kept.biasLine, state.calibration.biasLine)
                || Self.isNoticeable(state.kept.learntScale, state.calibration.learntScale)
        }
        if isNoticeable { write(to: store) }
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
