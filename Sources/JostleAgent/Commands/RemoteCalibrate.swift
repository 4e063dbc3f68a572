internal import Documents
internal import JostleConfiguration
internal import JostleRuntime
internal import MotionCore
internal import MotionKit

/// `calibrate`: a guided calibration. A person at the board places it as the replies instruct; the result takes effect
/// and is saved at once.
struct RemoteCalibrate: RemoteCommand, Equatable {
    /// The allowed durations, s.
    static let durations = 20.0...1800.0

    /// The sensor to calibrate; `nil` to stop a calibration without changing anything.
    let subject: GuidedCalibration.Subject?
    let seconds: Double

    init(_ arguments: CommandArguments) throws {
        guard let seconds = try arguments.duration(within: RemoteCalibrate.durations, default: 600) else {
            subject = nil
            self.seconds = 0
            return
        }
        self.seconds = seconds
        let poses = try arguments.integer("poses")
        func refuse(_ poses: Int?, _ sensor: String) throws {
            if poses != nil { throw CommandRefusal(.badArguments, "poses cannot be combined with \(sensor)") }
        }
        switch try arguments.string("what") {
        case "gyroscope", "gyro":
            try refuse(poses, "\"gyroscope\", which is calibrated in one position")
            subject = .gyroscope
        case "magnetometer":
            try refuse(poses, "\"magnetometer\", which is calibrated while it turns")
            subject = .magnetometer
        case "accelerometer", "accel":
            guard GuidedCalibration.poses.contains(poses ?? 8) else {
                throw CommandRefusal(
                    .badArguments,
                    "poses must be \(GuidedCalibration.poses.lowerBound) to "
                        + "\(GuidedCalibration.poses.upperBound), not \(poses ?? 0)")
            }
            subject = .accelerometer(poses: poses ?? 8)
        case let other?:
            throw CommandRefusal(.badArguments, "what must not be \"\(other.prefix(64))\": \(known)")
        case nil: throw CommandRefusal(.badArguments, "what is missing: \(known)")
        }
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        guard let subject else { return host.stop(.calibrate) }
        try host.requireIdle(.calibrate)
        try host.requireSamples()
        if subject == .magnetometer { try requireMagnetometer(of: host.manager) }
        host.begin(try Calibrating(subject, seconds: seconds, host, reply), of: .calibrate)
        var answer = JSONObject()
        answer.add("what", subject.word)
        answer.add("advice", subject.firstAdvice)
        answer.add("seconds", seconds, decimals: 0)
        answer.add("done", false)
        return answer
    }
}

extension RemoteCalibrate {
    private func requireMagnetometer(of manager: MotionManager) throws {
        if manager.lastMagnetometerStatus == nil {
            throw CommandRefusal(
                .sensorUnavailable, "no magnetometer is read; if the board has one, set sensor.magnetometer to true")
        }
        if manager.state?.hasRotationRate != true {
            throw CommandRefusal(
                .sensorUnavailable, "the sensor has no gyroscope, which the calibration of a magnetometer needs")
        }
    }
}

private let known = "it must be gyroscope, accelerometer or magnetometer"

/// A calibration in progress.
private final class Calibrating: CommandJob {
    let needsSensor = true
    private let flag: EndFlag
    private let calibration: GuidedCalibration

    init(
        _ subject: GuidedCalibration.Subject, seconds: Double, _ host: CommandHost, _ reply: CommandReply
    ) throws {
        let flag = EndFlag()
        let log = host.log
        calibration = try GuidedCalibration(subject, of: host.manager, limit: seconds) { step in
            Calibrating.report(step, subject, reply, log)
            switch step {
            case .done, .failed: flag.raise()
            case .pose, .refused, .turning: break
            }
        }
        self.flag = flag
    }

    var isOver: Bool { flag.isRaised }
    func end() { calibration.cancel() }

    private static func report(
        _ step: GuidedCalibration.Step, _ subject: GuidedCalibration.Subject, _ reply: CommandReply, _ log: Log
    ) {
        var answer = JSONObject()
        answer.add("what", subject.word)
        switch step {
        case .pose(let number, let count, let side):
            answer.add("pose", Int64(number))
            answer.add("poses", Int64(count))
            answer.add("advice", "good; now turn it to a new side, preferably with \(side) up")
            answer.add("done", false)
        case .refused(let reason):
            answer.add("advice", "measurement not used: \(reason)")
            answer.add("done", false)
        case .turning(let coverage, let advice):
            answer.add("coverage", coverage, decimals: 2)
            answer.add("advice", advice)
            answer.add("done", false)
        case .done(let before, let after):
            // mg, °/s and µT, as in the output of `jostle calibrate`.
            let (scale, unit) =
                switch subject {
                case .gyroscope: (degreesPerRadian, "deg_s")
                case .accelerometer: (1000 / standardGravity, "mg")
                case .magnetometer: (1.0, "ut")
                }
            answer.add("before_\(unit)", before * scale, decimals: 2)
            answer.add("after_\(unit)", after * scale, decimals: 2)
            answer.add("done", true)
            log.info("the \(subject.word) was calibrated over MQTT")
        case .failed(let reason):
            reply.refuse(CommandRefusal(.failed, "\(reason); nothing was changed"))
            return
        }
        reply.send(answer)
    }
}

extension GuidedCalibration.Subject {
    fileprivate var word: String {
        switch self {
        case .gyroscope: "gyroscope"
        case .accelerometer: "accelerometer"
        case .magnetometer: "magnetometer"
        }
    }

    fileprivate var firstAdvice: String {
        switch self {
        case .gyroscope: "keep it still for 13 s on a surface that does not vibrate"
        case .accelerometer: "keep it still; after each reply, place it on another side, edge or corner"
        case .magnetometer: "keep it still for 3 s, away from iron, magnets and cables with current"
        }
    }
}
