internal import IMUDrivers
internal import JostleCommandLine
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// The result of `jostle scan --self-test`, for people and for programs.
struct SelfTestResult {
    private let place: SensorScan.Place
    private let result: Result<MPU6050SelfTestReport, SensorSelfTest.Failure>

    /// Runs the self-test.
    init(testing choice: SensorScan.Choice) {
        place = choice.place
        do throws(SensorSelfTest.Failure) {
            result = .success(try SensorSelfTest.run(on: choice))
        } catch {
            result = .failure(error)
        }
    }

    private static let axes = ["x", "y", "z"]

    /// The result, one line per axis; `nil` if the test was not completed.
    var table: String? {
        guard case .success(let report) = result else { return nil }
        var rows = [["", "response", "factory", "deviation", ""]]
        for index in 0..<3 {
            rows.append(row("gyroscope", index, report.gyroscope[index], 180 / .pi, "%.1f °/s"))
        }
        for index in 0..<3 {
            rows.append(row("accelerometer", index, report.accelerometer[index], 1 / standardGravity, "%.3f g"))
        }
        return "self-test of \(hexadecimal(place.address)) on \(place.bus): \(report.verdict.word)\n"
            + TextTable(rows, rightAligned: 1...3).description
    }

    private func row(
        _ sensor: String, _ index: Int, _ axis: MPU6050SelfTestReport.Axis, _ scale: Double, _ format: String
    ) -> [String] {
        [
            "\(sensor) \(SelfTestResult.axes[index])", formatted(axis.response * scale, format),
            axis.factoryTrim == 0 ? "-" : formatted(axis.factoryTrim * scale, format),
            axis.deviation.map { formatted($0 * 100, "%+.1f %%") } ?? "-", axis.verdict.word,
        ]
    }

    /// The result in °/s, g and per cent.
    var json: JSONObject {
        var object = JSONObject()
        object.add("bus", place.bus)
        object.add("address", hexadecimal(place.address))
        switch result {
        case .failure(let error):
            object.add("error", "\(error)")
        case .success(let report):
            object.add("verdict", report.verdict.key)
            object.add("disturbance", report.disturbance?.explanation)
            object.add("gyroscope_dps", SelfTestResult.json(report.gyroscope, 180 / .pi))
            object.add("accelerometer_g", SelfTestResult.json(report.accelerometer, 1 / standardGravity))
        }
        return object
    }

    private static func json(_ sensor: MPU6050SelfTestReport.Axes, _ scale: Double) -> JSONObject {
        var object = JSONObject()
        for index in 0..<3 {
            let axis = sensor[index]
            var entry = JSONObject()
            entry.add("response", axis.response * scale, decimals: 4)
            entry.add("factory_trim", axis.factoryTrim == 0 ? nil : axis.factoryTrim * scale, decimals: 4)
            entry.add("deviation_percent", axis.deviation.map { $0 * 100 }, decimals: 2)
            entry.add("verdict", axis.verdict.key)
            object.add(axes[index], entry)
        }
        return object
    }

    /// Throws unless every axis passed: status 69, or 77 if permission is denied.
    func check() throws(CommandFailure) {
        switch result {
        case .failure(.unavailable(let error)):
            throw CommandFailure(SensorError.unavailable(error))
        case .failure(let error):
            throw CommandFailure(.unavailable, "\(error)")
        case .success(let report):
            switch report.verdict {
            case .passed: return
            case .failed:
                throw CommandFailure(
                    .unavailable,
                    "the chip failed its self-test: an axis deviates by more than 14 % from the factory's response")
            case .noTrim:
                throw CommandFailure(
                    .unavailable,
                    "the self-test is inconclusive: the chip holds no factory values to compare with, as is common in copies"
                )
            case .disturbed:
                let movement = report.disturbance.map { ": \($0.explanation)" } ?? ""
                throw CommandFailure(
                    .unavailable,
                    "the board did not lie still during the self-test\(movement); lay it down and try again")
            }
        }
    }
}

extension MPU6050SelfTestReport.Verdict {
    /// The verdict for people.
    fileprivate var word: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .noTrim: "no factory trim"
        case .disturbed: "disturbed"
        }
    }

    /// The verdict for programs.
    fileprivate var key: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .noTrim: "no_trim"
        case .disturbed: "disturbed"
        }
    }
}
