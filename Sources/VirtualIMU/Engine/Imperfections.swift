package import MotionCore

/// The imperfections of a virtual chip, in addition to 16-bit quantisation and saturation at the range, which every
/// chip has.
///
/// The values of the product specification (PS-MPU-6000A-00 r3.4, pages 12 to 14) are bounds; see `typical`.
package struct Imperfections: Equatable, Sendable {
    /// Added to every reading of the accelerometer at 25 °C, m/s². PS: up to 50 mg on x and y, 80 mg on z.
    package var accelerometerBias = Vector3.zero

    /// Added to every reading of the gyroscope at 25 °C, rad/s. PS: up to 20 °/s.
    package var gyroscopeBias = Vector3.zero

    /// Scale factors (diagonal) and cross-axis sensitivity of the accelerometer. PS: 3 % and 2 %.
    package var accelerometerMatrix = Matrix3.identity

    /// Scale factors (diagonal) and cross-axis sensitivity of the gyroscope. PS: 3 % and 2 %.
    package var gyroscopeMatrix = Matrix3.identity

    /// White noise of the accelerometer, m/s²/√Hz, one-sided. PS: 400 µg/√Hz.
    package var accelerometerNoise = 0.0

    /// White noise of the gyroscope, rad/s/√Hz, one-sided. PS: 0.005 °/s/√Hz.
    package var gyroscopeNoise = 0.0

    /// Change of the accelerometer's bias with temperature, m/s² per °C. PS: up to 0.6 mg/°C, z 1 mg/°C.
    package var accelerometerBiasDrift = Vector3.zero

    /// Change of the gyroscope's bias with temperature, rad/s per °C. PS: up to 0.16 °/s per °C.
    package var gyroscopeBiasDrift = Vector3.zero

    /// Temperature around the board, °C.
    package var ambientTemperature = 25.0

    /// How much warmer than its surroundings the chip becomes when awake, °C.
    package var selfHeating = 0.0

    /// Time constant of the temperature, s: the time to 63 % of the final temperature.
    package var thermalTimeConstant = 60.0

    /// How much longer than nominal the true sample period is, parts per million, at 25 °C with a gyroscope as clock
    /// source (CLKSEL 1 to 3). PS: up to 10,000.
    package var oscillatorError = 0.0

    /// The same for the internal oscillator (CLKSEL 0). PS: up to 50,000.
    package var internalOscillatorError = 0.0

    /// Change of both errors with temperature, parts per million per °C.
    package var oscillatorDrift = 0.0

    /// Seconds after waking until the gyroscope is within 1 °/s of its final output; it begins about 250 °/s off. PS:
    /// 30 ms. Zero: right at once.
    package var gyroscopeStartUp = 0.0

    /// Time in which the chip writes a frame into the FIFO, s: a count read meanwhile is not a multiple of the frame
    /// length. Not specified; such counts are reported of real chips (i2cdevlib issues 252 and 479).
    package var fifoWriteTime = 0.0

    /// The accelerometer's factory self-test codes (RM p. 9 to 11).
    package var accelerometerTrim = SelfTestCodes(x: 16, y: 18, z: 14)

    /// The gyroscope's factory self-test codes.
    package var gyroscopeTrim = SelfTestCodes(x: 15, y: 17, z: 13)

    /// How much the self-test response exceeds the factory's, as a share of it. PS: 0.14 at most in a good part.
    package var selfTestDeviation = 0.0

    /// Creates an ideal chip.
    package init() {}

    /// A chip that measures exactly, with an exact oscillator.
    package static var ideal: Imperfections { Imperfections() }

    /// A plausible MPU-6050: all specified values well within their bounds, and none zero.
    package static var typical: Imperfections {
        var it = Imperfections()
        it.accelerometerBias = standardGravity * Vector3(0.022, -0.031, 0.047)
        it.gyroscopeBias = radiansPerDegree * Vector3(-2.6, 1.7, 0.9)
        it.accelerometerMatrix = Matrix3(
            Vector3(1.006, 0.004, -0.003), Vector3(-0.005, 0.993, 0.002), Vector3(0.003, -0.004, 1.011))
        it.gyroscopeMatrix = Matrix3(
            Vector3(0.994, -0.006, 0.004), Vector3(0.003, 1.008, -0.005), Vector3(-0.004, 0.006, 1.005))
        it.accelerometerNoise = 400e-6 * standardGravity
        it.gyroscopeNoise = 0.005 * radiansPerDegree
        it.accelerometerBiasDrift = standardGravity * Vector3(0.0002, -0.0003, 0.0006)
        it.gyroscopeBiasDrift = radiansPerDegree * Vector3(0.012, -0.02, 0.008)
        it.ambientTemperature = 22
        it.selfHeating = 5
        it.thermalTimeConstant = 90
        it.oscillatorError = 12_000
        it.internalOscillatorError = 27_000
        it.oscillatorDrift = -20
        it.gyroscopeStartUp = 0.03
        it.selfTestDeviation = 0.04
        return it
    }
}

/// Factory self-test codes of a sensor's axes, 1 to 31; 0 if the factory wrote none.
package struct SelfTestCodes: Equatable, Sendable {
    package var x: UInt8
    package var y: UInt8
    package var z: UInt8

    package init(x: UInt8, y: UInt8, z: UInt8) {
        self.x = x
        self.y = y
        self.z = z
    }
}
