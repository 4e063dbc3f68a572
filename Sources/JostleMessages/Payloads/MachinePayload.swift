package import Documents
internal import JostleConfiguration
package import MotionCore

extension Payloads {
    /// How the machine is: its phase, its last minute in figures, and in what it deviates from its earlier runs since a time in
    /// milliseconds since 1970. `runsToday` are the runs that ended today, and their seconds; the class of the machine in the
    /// settings decides its zone.
    package static func machine(
        _ report: MachineReport, at time: Int64, _ settings: VibrationSettings,
        runsToday: (count: Int, seconds: Double),
        deviatesSince: Int64?, isSimulated: Bool
    ) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("phase", report.phase.word)
        object.add("confidence", report.isLearning ? "learning" : "learnt")
        object.add("runs", Int64(report.runs))
        object.add("runs_today", Int64(runsToday.count))
        let present = report.phase == .off ? 0 : report.duration
        object.add("seconds_today", runsToday.seconds + present, decimals: 0)
        if report.phase != .off { object.add("duration", report.duration, decimals: 0) }
        if report.phase == .paused { object.add("quiet_for", report.quietFor, decimals: 0) }
        if let measurement = report.measurement { add(measurement, settings, to: &object) }
        object.add("changed", report.deviation != nil)
        object.add("deviation", report.deviation.map { deviation($0, since: deviatesSince) })
        if isSimulated { object.add("simulated", true) }
        return object
    }

    /// In which octave a machine deviates, by how many decibels, and since when.
    package static func deviation(_ deviation: MachineDeviation, since: Int64?) -> JSONObject {
        var object = JSONObject()
        object.add("octave", deviation.octave, decimals: 1)
        object.add("decibels", Double(deviation.decibels), decimals: 1)
        object.add("since", since)
        return object
    }

    private static func add(
        _ measurement: MachineMeasurement, _ settings: VibrationSettings, to object: inout JSONObject
    ) {
        guard measurement.highestVelocity > 10 else { return }
        let velocity = "v_10_\(Int(measurement.highestVelocity))"
        let acceleration = "a_10_\(Int(measurement.highestAcceleration))"
        let isVelocityBelow = measurement.velocity == 0
        let isAccelerationBelow = measurement.acceleration == 0
        object.add(
            velocity, (isVelocityBelow ? measurement.velocityNoise : measurement.velocity) * 1000, decimals: 2)
        object.add(
            acceleration, isAccelerationBelow ? measurement.accelerationNoise : measurement.acceleration, decimals: 3)
        let below = (isVelocityBelow ? [velocity] : []) + (isAccelerationBelow ? [acceleration] : [])
        if !below.isEmpty { object.add("below", below) }
        object.add("peak", measurement.peak, decimals: 2)
        object.add("crest", measurement.crestFactor, decimals: 1)
        object.add("kurtosis", measurement.kurtosis, decimals: 1)
        let octaves = VibrationBands.octaves(rate: measurement.rate)
        object.add("octaves", octaves.map { Double(measurement.octaves[$0]) }, decimals: 1)
        let lines = (0..<3).filter { measurement.lineLevels[$0] > 0 }
        object.add(
            "lines", lines.map { [Double(measurement.lineFrequencies[$0]), Double(measurement.lineLevels[$0])] },
            decimals: 2)
        object.add("speed", measurement.speed.map { $0 * 60 }, decimals: 0)
        object.add("zone", zone(of: measurement, settings.machineClass))
    }

    /// The zone of the velocity: A is new, B acceptable, C for a limited time, D damaging.
    private static func zone(of measurement: MachineMeasurement, _ machineClass: MachineClass) -> String? {
        guard let limits = machineClass.limits else { return nil }
        let index = limits.firstIndex { measurement.velocity <= $0 } ?? limits.count
        return ["A", "B", "C", "D"][index]
    }
}
