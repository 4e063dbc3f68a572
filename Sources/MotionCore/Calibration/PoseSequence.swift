/// A sequence of poses, with the turns between them: the input of a calibration.
///
/// A rest counts as another pose only after a movement. A sensor that is not touched is one pose, not many.
package struct PoseSequence: Sendable {
    /// The state after a sample.
    package enum Progress: Equatable, Sendable, BitwiseCopyable {
        /// The sensor still lies as in the last pose and must be moved.
        case unmoved
        /// The sensor moves, or moved just now.
        case moving(PoseCollector.Disturbance)
        /// The sensor has just come to rest.
        case settling
        /// The pose is being averaged: the completed part, 0 to 1.
        case averaging(Double)
        /// A new pose is complete.
        case done(RestingPose)
    }

    /// The turn that led to the last pose; `nil` if there was none or its recording cannot be used.
    package private(set) var lastTurn: TurnSegment?

    /// Why the recording of the turn to the last pose cannot be used; `nil` if it can.
    package private(set) var lastDamage: TurnRecorder.Damage?

    /// The last pose.
    package private(set) var lastPose: RestingPose?

    private var collector: PoseCollector
    private var recorder: TurnRecorder?
    private var hasMoved = true

    /// Creates a sequence that begins with the first rest.
    package init(parameters: PoseCollector.Parameters = PoseCollector.Parameters()) {
        collector = PoseCollector(parameters: parameters)
    }

    /// Forgets all poses. The next rest counts even without a movement.
    package mutating func reset() {
        collector.reset()
        recorder = nil
        hasMoved = true
        lastTurn = nil
        lastDamage = nil
        lastPose = nil
    }

    /// Adds a sample along the sensor's axes.
    package mutating func take(_ sample: MotionSample) -> Progress {
        recorder?.take(sample)
        switch collector.take(sample) {
        case .moving(let disturbance):
            hasMoved = true
            return .moving(disturbance)
        case .settling:
            return hasMoved ? .settling : .unmoved
        case .averaging(let part):
            return hasMoved ? .averaging(part) : .unmoved
        case .done(let pose):
            let isNew = hasMoved
            if isNew {
                lastTurn = recorder?.finished(at: pose)
                lastDamage = recorder?.damage
            }
            // Even without a movement: the next turn should begin with the present bias, not with an old one.
            lastPose = pose
            recorder = TurnRecorder(from: pose)
            recorder?.take(sample)
            hasMoved = false
            return isNew ? .done(pose) : .unmoved
        }
    }
}
