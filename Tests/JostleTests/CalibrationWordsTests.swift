import MotionCore
import MotionKit
import Testing

@testable import jostle

/// Requirement: a calibration that somebody knows by another name is understood.
@Suite struct CalibrationWordsTests {
    @Test func calibrationHasOtherNames() {
        #expect(CalibrateCommand.Subject(word: "gyro") == .gyro && CalibrateCommand.Subject(word: "gyroscope") == .gyro)
        #expect(CalibrateCommand.Subject(word: "accel") == .accelerometer)
        #expect(CalibrateCommand.Subject(word: "gyroscope-scale") == .gyroScale)
        #expect(CalibrateCommand.Subject(word: "compass") == .magnetometer)
        #expect(CalibrateCommand.Subject(word: "barometer") == nil)
    }

    /// Each refusal says what to do.
    @Test(arguments: [
        (MagneticFitError.tooFewReadings(have: 40, need: 200), "20 % of the turning is done"),
        (
            .notTurnedEnough(deviation: 0.72, axis: 2, missing: .minusX),
            "the z component of the hard iron is known to 0.7 µT, 0.3 µT is needed: tilt it further, best with -x up"
        ),
        (
            .residualTooLarge(3.21),
            "the readings contradict one another by 3.2 µT: move away from iron, magnets and cables, and turn it more slowly"
        ),
        (
            .implausibleStrength(15),
            "the field would have 15 µT, which the earth's has nowhere: calibrate it outside, or away from iron"
        ),
        (
            .implausibleSoftIron(0.41),
            "iron on the board would distort the field by 41 %: take iron and magnets away from the board"
        ),
        (
            .wrongAxes(Matrix3(Vector3(0, 1, 0), Vector3(1, 0, 0), Vector3(0, 0, -1))),
            "the axes of the magnetometer do not match those of the gyroscope: its y, x, -z, or the negatives of all three, "
                + "lie along x, y, z"
        ),
        (.noSolution, "the readings give no calibration: turn it about other axes"),
    ])
    func refusalsOfMagnetometerSayWhatToDo(error: MagneticFitError, words: String) {
        #expect("\(error)".contains(words), "\(error)")
    }
}
