internal import Glibc
internal import MotionCore

/// The effect of a setting of the digital low-pass (RM p. 13).
struct LowPassSetting: Equatable {
    /// -3 dB bandwidth of the accelerometer, Hz.
    let accelerometerBandwidth: Double

    /// -3 dB bandwidth of the gyroscope, Hz.
    let gyroscopeBandwidth: Double

    /// Delay of slow signals through the gyroscope's filter, s. The accelerometer's is the same within 0.4 ms (within 1
    /// ms with setting 0, for which the table gives none).
    let delay: Double

    /// The rate before the divider, Hz.
    let baseRate: Double

    /// The setting of DLPF_CFG (0 to 7). 7 is reserved and behaves like 0.
    init(code: UInt8) {
        switch code {
        case 1: self.init(184, 188, 1.9e-3)
        case 2: self.init(94, 98, 2.8e-3)
        case 3: self.init(44, 42, 4.8e-3)
        case 4: self.init(21, 20, 8.3e-3)
        case 5: self.init(10, 10, 13.4e-3)
        case 6: self.init(5, 5, 18.6e-3)
        default: self.init(260, 256, 0.98e-3, baseRate: 8000)
        }
    }

    /// The setting of DLPF_CFG and A_DLPF_CFG from the MPU-6500 on (RM-MPU-9250A-00 r1.6, registers 26 and 29). The
    /// gyroscope's widest setting at 1 kHz has 184 Hz in an MPU-6500 and 176 Hz in an ICM-20602 (DS-000176, register 26).
    /// The accelerometer's delays are 1.02 ms less than the gyroscope's for the same number, which is not modelled.
    /// Unsourced: the ICM-20602's delays, here those of the MPU-9250.
    init(gyroscopeCode: UInt8, accelerometerCode: UInt8, isWideGyroscope: Bool) {
        let accelerometer: Double =
            switch accelerometerCode {
            case 2: 99
            case 3: 44.8
            case 4: 21.2
            case 5: 10.2
            case 6: 5.05
            case 7: 420
            default: 218.1
            }
        switch gyroscopeCode {
        case 1: self.init(accelerometer, isWideGyroscope ? 184 : 176, 2.9e-3)
        case 2: self.init(accelerometer, 92, 3.9e-3)
        case 3: self.init(accelerometer, 41, 5.9e-3)
        case 4: self.init(accelerometer, 20, 9.9e-3)
        case 5: self.init(accelerometer, 10, 17.85e-3)
        case 6: self.init(accelerometer, 5, 33.48e-3)
        default: self.init(accelerometer, 250, 0.97e-3, baseRate: 8000)
        }
    }

    /// A setting with these bandwidths (Hz) and this delay (s; `nil`: that of a second-order low-pass).
    init(_ accelerometer: Double, _ gyroscope: Double, _ delay: Double? = nil, baseRate: Double = 1000) {
        accelerometerBandwidth = accelerometer
        gyroscopeBandwidth = gyroscope
        self.delay = delay ?? 2.0.squareRoot() / (2 * .pi * gyroscope)
        self.baseRate = baseRate
    }
}

/// A first-order low-pass with a fixed step.
struct LowPass {
    private let weight: Double
    private(set) var output = Vector3.zero

    /// Delay of slow signals, s.
    let delay: Double

    /// Creates a filter with a -3 dB bandwidth of exactly `bandwidth` (Hz) for inputs every `step` seconds.
    init(bandwidth: Double, step: Double) {
        // |H|² = w²/(w² + 2(1 - w)(1 - cos θ)) = 1/2 at θ = 2π·bandwidth·step, solved for w.
        let c = 1 - cos(min(2 * .pi * bandwidth * step, .pi))
        weight = (c * c + 2 * c).squareRoot() - c
        delay = step * (1 - weight) / weight
    }

    /// Restarts in the steady state for a constant `value`.
    mutating func settle(at value: Vector3) {
        output = value
    }

    /// Adds the next input.
    mutating func add(_ input: Vector3) {
        output += weight * (input - output)
    }
}

/// White noise after a first-order low-pass, sampled at any rate.
///
/// Such noise is exactly a first-order autoregressive process. The power within the band is right even if the band is
/// wider than half the sample rate.
struct BandNoise {
    private let memory: Double
    private let innovation: Double
    private let deviation: Double
    private(set) var output = Vector3.zero

    /// Creates noise of `density` (unit/√Hz, one-sided) within `bandwidth` (Hz), sampled every `period` seconds.
    init(density: Double, bandwidth: Double, period: Double) {
        memory = exp(-2 * .pi * bandwidth * period)
        // The equivalent noise bandwidth of a first-order filter is π/2 times its -3 dB bandwidth.
        deviation = density * (0.5 * .pi * bandwidth).squareRoot()
        innovation = deviation * (1 - memory * memory).squareRoot()
    }

    /// Restarts in the steady state.
    mutating func settle(with normal: Vector3) {
        output = deviation * normal
    }

    /// Adds the next normal numbers.
    mutating func add(_ normal: Vector3) {
        output = memory * output + innovation * normal
    }
}
