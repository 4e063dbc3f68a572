internal import IMUDrivers
internal import JostleMessages
internal import MotionCore

/// Looks at the sensor's counters from time to time for what a reader of the log can do something about: readings at the end
/// of a range, and a data-ready line that is of no use.
struct SensorWatch {
    /// Seconds between two looks.
    static let interval = 5.0

    /// Seconds between two remarks on clipping.
    static let clippingInterval = 60.0

    /// Something to be logged.
    struct Remark: Equatable {
        var isWarning = true
        var text: String
    }

    private var told = IMUStatus()
    private var nextClipping = Timestamp(nanoseconds: .min)

    /// What is to be said at `now`.
    mutating func remarks(on status: IMUStatus, _ info: IMUInfo?, at now: Timestamp) -> [Remark] {
        var remarks: [Remark] = []
        if now >= nextClipping {
            let found = clipping(status, info)
            if !found.isEmpty { nextClipping = now.advanced(bySeconds: SensorWatch.clippingInterval) }
            remarks += found
        }
        if let remark = dataReady(status.dataReady) { remarks.append(remark) }
        return remarks
    }

    private mutating func clipping(_ status: IMUStatus, _ info: IMUInfo?) -> [Remark] {
        guard let info else { return [] }
        var remarks: [Remark] = []
        let accelerations = status.clippedAccelerations &- told.clippedAccelerations
        if accelerations > 0 {
            let advice = SensorWatch.advice(
                "sensor.accelerometer_range", info.accelerometerRange / standardGravity, [2, 4, 8, 16], "g")
            remarks.append(Remark(text: "the accelerometer was at its limit in \(accelerations) samples: \(advice)"))
        }
        let rotations = status.clippedRotationRates &- told.clippedRotationRates
        if rotations > 0 {
            let advice = SensorWatch.advice(
                "sensor.gyroscope_range", info.gyroscopeRange * degreesPerRadian, [250, 500, 1000, 2000], "°/s")
            remarks.append(Remark(text: "the gyroscope was at its limit in \(rotations) samples: \(advice)"))
        }
        told.clippedAccelerations = status.clippedAccelerations
        told.clippedRotationRates = status.clippedRotationRates
        return remarks
    }

    /// Which range to set instead of `range`, among those that can be set.
    static func advice(_ key: String, _ range: Double, _ ranges: [Double], _ unit: String) -> String {
        // A chip's range may be off its name by a rounding error.
        guard let next = ranges.first(where: { $0 > range * 1.001 }) else {
            return "±\(range.rounded(to: 0)) \(unit) is the largest range there is"
        }
        return "set \(key): \(next.rounded(to: 0)) \(unit)"
    }

    private mutating func dataReady(_ status: DataReadyStatus) -> Remark? {
        defer { told.dataReady = status }
        let was = told.dataReady
        if status.state == .used, was.state != .used {
            return Remark(isWarning: false, text: "the data-ready line times the samples")
        }
        // A line that is tried again and fails again is no news.
        guard status.failures > was.failures, was.failures == 0 || was.state == .used else { return nil }
        switch status.lastFault {
        case .silent:
            let fault = "no edge comes on the data-ready line: check sensor.interrupt and the wire to the INT pin; "
            return Remark(text: fault + "until then the FIFO's fill tells when samples were taken")
        case .mismatched:
            let fault = "the data-ready line's edges do not fit the samples, whose instants the FIFO's fill tells; "
            return Remark(text: fault + "if this lasts, check sensor.interrupt and the wire")
        case .unsupported:
            let fault = "this chip's pin does not pulse with its samples, whose instants the FIFO's fill tells; "
            return Remark(text: fault + "take sensor.interrupt out of the configuration")
        case nil:
            return nil
        }
    }
}
