/// Pose after pose, with the turns between them: what a calibration is made of.
///
/// A rest counts as another pose only after a movement, so that a sensor nobody touches is one pose and not many.
package struct PoseSequence: Sendable {
    /// How far it has got.
    package enum Progress: Equatable, Sendable, BitwiseCopyable {
        /// It still lies as in the last pose: move it.
        case unmoved
        /// It moves, or did just now.
        case moving(PoseCollector.Unrest)
        /// It has just come to rest.
        case settling
        /// The pose is being averaged: the part that is done, 0 to 1.
        case averaging(Double)
        /// Another pose.
        case done(RestingPose)
    }

    /// The turn that led to the last pose; `nil` where there was none or its recording is useless.
    package private(set) var lastTurn: TurnSegment?

    /// What made the recording of the turn to the last pose useless; `nil` where nothing did.
    package private(set) var lastDamage: TurnRecorder.Damage?

    /// The last pose.
    package private(set) var lastPose: RestingPose?

    private var collector: PoseCollector
    private var recorder: TurnRecorder?
    private var hasMoved = true

    /// Makes a sequence that begins with the first rest.
    package init(parameters: PoseCollector.Parameters = PoseCollector.Parameters()) {
        collector = PoseCollector(parameters: parameters)
    }

    /// Forgets all poses: the next rest counts, moved or not.
    package mutating func reset() {
        collector.reset()
        recorder = nil
        hasMoved = true
        lastTurn = nil
        lastDamage = nil
        lastPose = nil
    }

    /// Takes a sample along the sensor's axes.
    package mutating func take(_ sample: MotionSample) -> Progress {
        recorder?.take(sample)
        switch collector.take(sample) {
        case .moving(let unrest):
            hasMoved = true
            return .moving(unrest)
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
            // Also where nothing moved: the next turn begins with the bias of this moment, not of long ago.
            lastPose = pose
            recorder = TurnRecorder(from: pose)
            recorder?.take(sample)
            hasMoved = false
            return isNew ? .done(pose) : .unmoved
        }
    }
}
