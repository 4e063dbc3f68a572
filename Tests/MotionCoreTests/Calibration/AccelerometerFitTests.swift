import MotionCore
import Testing
import VirtualIMU

/// Requirement: the accelerometer's errors from resting positions in any order and any orientation.
@Suite struct AccelerometerFitTests {
    @Test func explore() throws {
        let chip = badChip()
        for (i, directions) in [faces + slants.prefix(1), faces+slants.prefix(2), faces+[Vector3(0, -1, 1), Vector3(-1, -1, -1)],
            [Vector3(1,1,0.3), Vector3(-0.5,1,-1), Vector3(-1,-1,0.2), Vector3(0.3, -1, -1), Vector3(1,0.2,-0.8), Vector3(-0.9,0.1,0.6), Vector3(0.1,1,0.6)], faces+slants.prefix(3), faces+slants.prefix(4)].enumerated() {
            let path = posing(Array(directions))
            let rig = CalibrationRig(path, chip)
            let (poses, turns) = rig.collect(path.duration + 0.5)
            for use in [false, true] {
            for td in [0.02, 0.05] {
            var par = AccelerometerFit.Parameters()
            par.turnDeviation = td * radiansPerDegree
            var fit = AccelerometerFit(parameters: par)
            for pose in poses { try fit.add(pose) }
            if use { for turn in turns { fit.add(turn) } }
            let solution = try fit.solve()
            let temperature = poses.map(\.temperature).reduce(0, +) / Double(poses.count)
            print(i, use, td, poses.count, solution.residual/standardGravity*1000, solution.uncertainty/standardGravity*1000, solution.weakestDirection, largestGravityError(solution.calibration, chip, temperature: temperature))
            }}
        }
    }
}
