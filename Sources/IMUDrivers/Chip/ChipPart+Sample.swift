internal import MotionCore

extension ChipPart {
    /// Converts a frame to SI units. `temperature`, °C, is used if the chip's frames do not carry one.
    func sample(of frame: ChipFrame, at timestamp: Timestamp, temperature: Double = .nan) -> MotionSample {
        let figures = figures
        let a = figures.accelerometerScales
        let offset = figures.accelerometerOffset
        let g = figures.gyroscopeScale
        let hasGyroscope = figures.gyroscopeRange > 0
        var flags: MotionSample.Flags = hasGyroscope ? .rotationRate : []
        let accelerometerLimit = accelerometerLimit
        if isClipped(frame.ax, accelerometerLimit) { flags.insert(.accelerationClipped(axis: 0)) }
        if isClipped(frame.ay, accelerometerLimit) { flags.insert(.accelerationClipped(axis: 1)) }
        if isClipped(frame.az, accelerometerLimit) { flags.insert(.accelerationClipped(axis: 2)) }
        if hasGyroscope {
            let gyroscopeLimit = gyroscopeLimit
            if isClipped(frame.gx, gyroscopeLimit) { flags.insert(.rotationRateClipped(axis: 0)) }
            if isClipped(frame.gy, gyroscopeLimit) { flags.insert(.rotationRateClipped(axis: 1)) }
            if isClipped(frame.gz, gyroscopeLimit) { flags.insert(.rotationRateClipped(axis: 2)) }
        }
        // No `map`: in an unoptimised build the method passed as a closure is allocated once per sample.
        var celsius = temperature
        if let raw = frame.temperature { celsius = self.celsius(raw) }
        return MotionSample(
            timestamp: timestamp,
            acceleration: Vector3(
                Double(frame.ax) * a.x - offset.x, Double(frame.ay) * a.y - offset.y, Double(frame.az) * a.z - offset.z),
            rotationRate: Vector3(Double(frame.gx) * g, Double(frame.gy) * g, Double(frame.gz) * g),
            temperature: celsius, flags: flags)
    }

    private func isClipped(_ value: Int16, _ limit: Int16) -> Bool { value >= limit || value <= -limit }
}
