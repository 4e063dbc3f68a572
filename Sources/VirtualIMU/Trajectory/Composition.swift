package import MotionCore

/// Segments in sequence, each starting in the pose in which the previous one ended.
package struct MotionSequence: Trajectory {
    private let segments: [any Trajectory]
    private let starts: [Double]
    private let poses: [Quaternion]
    private let finalPose: Quaternion

    package let duration: Double

    package var once: any Trajectory { MotionSequence(segments.map(\.once)) }

    /// A segment that never ends is the last one reached.
    package init(_ segments: [any Trajectory]) {
        var starts: [Double] = []
        var poses: [Quaternion] = []
        var time = 0.0
        var pose = Quaternion.identity
        for segment in segments {
            starts.append(time)
            poses.append(pose)
            if segment.duration.isFinite {
                pose = segment.motion(at: segment.duration, from: pose).attitude.normalized
            }
            time += segment.duration
        }
        self.segments = segments
        self.starts = starts
        self.poses = poses
        finalPose = pose
        duration = time
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time < duration else { return TrueMotion(restingAt: pose * finalPose) }
        guard let index = starts.lastIndex(where: { $0 <= time }) else { return TrueMotion(restingAt: pose) }
        return segments[index].motion(at: time - starts[index], from: pose * poses[index])
    }
}

/// A trajectory that repeats for ever, each time starting in the pose in which it ended.
package struct Repeating: Trajectory {
    private let base: any Trajectory
    private let period: Double
    private let turn: Vector3

    package var duration: Double { .infinity }

    package var once: any Trajectory { base.once }

    /// A `base` without duration or end is used as it is.
    package init(_ base: any Trajectory) {
        self.base = base
        period = base.duration > 0 && base.duration.isFinite ? base.duration : .infinity
        let rotation = period.isFinite ? base.motion(at: period).attitude.rotationVector : .zero
        // Rounding errors of a closed turn must not add up over days.
        turn = rotation.length < 1e-9 ? .zero : rotation
    }

    /// Repeats a sequence.
    init(_ segments: [any Trajectory]) { self.init(MotionSequence(segments)) }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time >= period else { return base.motion(at: time, from: pose) }
        let round = (time / period).rounded(.down)
        let within = time - round * period
        guard turn != .zero else { return base.motion(at: within, from: pose) }
        return base.motion(at: within, from: pose * Quaternion(rotationVector: round * turn))
    }
}

/// A movement that is stopped: afterwards the board rests in its last pose, like a machine that is unplugged.
package struct Halted: Trajectory {
    private let base: any Trajectory

    package let duration: Double

    /// Stops `base` after `seconds`, or when it ends by itself.
    package init(_ base: any Trajectory, after seconds: Double) {
        self.base = base
        duration = min(base.duration, seconds)
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time >= duration else { return base.motion(at: time, from: pose) }
        return TrueMotion(restingAt: base.motion(at: duration, from: pose).attitude)
    }
}

/// A trajectory that starts in another pose. Use it as the outermost one of a composition, since nothing leads into
/// that pose.
package struct Posed: Trajectory {
    private let base: any Trajectory
    private let attitude: Quaternion

    package var duration: Double { base.duration }

    package var once: any Trajectory { Posed(attitude, base.once) }

    package init(_ attitude: Quaternion, _ base: any Trajectory = Rest()) {
        self.attitude = attitude.normalized
        self.base = base
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        base.motion(at: time, from: pose * attitude)
    }
}

/// Two simultaneous movements: a shake while walking, a turn in a braking car.
///
/// Both are displaced from the starting pose; the second one rotates within the first.
package struct Superposed: Trajectory {
    private let outer: any Trajectory
    private let inner: any Trajectory

    package var duration: Double { max(outer.duration, inner.duration) }

    package var once: any Trajectory { Superposed(outer.once, inner.once) }

    package init(_ outer: any Trajectory, _ inner: any Trajectory) {
        self.outer = outer
        self.inner = inner
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        let a = outer.motion(at: time, from: pose)
        let b = inner.motion(at: time, from: pose)
        let turn = pose.conjugate * b.attitude
        return TrueMotion(
            attitude: a.attitude * turn, rotationRate: turn.unrotate(a.rotationRate) + b.rotationRate,
            position: a.position + b.position, acceleration: a.acceleration + b.acceleration)
    }
}
