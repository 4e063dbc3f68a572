import Testing

@testable import jostle

/// Requirement: a calibration that somebody knows by another name is understood.
@Suite struct CalibrationWordsTests {
    @Test func calibrationHasOtherNames() {
        #expect(CalibrateCommand.Subject(word: "gyro") == .gyro && CalibrateCommand.Subject(word: "gyroscope") == .gyro)
        #expect(CalibrateCommand.Subject(word: "accel") == .accelerometer)
        #expect(CalibrateCommand.Subject(word: "gyroscope-scale") == .gyroScale)
        #expect(CalibrateCommand.Subject(word: "compass") == nil)
    }
}
