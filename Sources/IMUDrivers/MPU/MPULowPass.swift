/// One row of a DLPF_CFG table.
struct MPULowPass: Equatable, Sendable, BitwiseCopyable {
    let setting: UInt8
    /// Gyroscope: -3 dB bandwidth, Hz, and delay, seconds.
    let bandwidth: Double
    let delay: Double
    /// Accelerometer: Hz and seconds.
    let accelerometerBandwidth: Double
    let accelerometerDelay: Double

    /// Creates a row from datasheet figures: Hz and milliseconds.
    fileprivate init(
        _ setting: UInt8, _ gyroscope: Double, _ gyroscopeDelay: Double, _ accelerometer: Double,
        _ accelerometerDelay: Double
    ) {
        self.setting = setting
        bandwidth = gyroscope
        delay = gyroscopeDelay / 1000
        accelerometerBandwidth = accelerometer
        self.accelerometerDelay = accelerometerDelay / 1000
    }
}

/// The tables of DLPF_CFG. From the MPU-6500 on, the accelerometer has a separate low-pass, A_DLPF_CFG, with the same
/// numbers.
///
/// Settings 0 and 7 are left out: they sample the gyroscope at 8 kHz, which no I2C bus can carry.
enum MPULowPassTable: UInt8, Sendable, BitwiseCopyable {
    /// RM-MPU-6000A-00 r4.2, p. 13.
    case mpu6050
    /// RM-MPU-9250A-00 r1.6, registers 26 (p. 12) and 29 (p. 14), as in libcaer's davis.h and the crate mpu9250. The
    /// MPU-6500 contains the same chip; its own, older manual has different figures for the accelerometer.
    case mpu9250
    /// DS-000176 (ICM-20602), registers 26 and 29: bandwidths. Unsourced: the delays. Those of the MPU-9250's filters
    /// with nearly the same bandwidths are assumed; also for ICM-20600, ICM-20608, ICM-20689 and MPU-6886, with the
    /// bandwidths.
    case icm206xx

    /// The row of a setting, 1 (widest) to 6 (narrowest).
    func row(_ setting: UInt8) -> MPULowPass {
        switch self {
        case .mpu6050:
            switch setting {
            case 1: MPULowPass(1, 188, 1.9, 184, 2.0)
            case 2: MPULowPass(2, 98, 2.8, 94, 3.0)
            case 3: MPULowPass(3, 42, 4.8, 44, 4.9)
            case 4: MPULowPass(4, 20, 8.3, 21, 8.5)
            case 5: MPULowPass(5, 10, 13.4, 10, 13.8)
            default: MPULowPass(6, 5, 18.6, 5, 19)
            }
        case .mpu9250:
            switch setting {
            case 1: MPULowPass(1, 184, 2.9, 218.1, 1.88)
            case 2: MPULowPass(2, 92, 3.9, 99, 2.88)
            case 3: MPULowPass(3, 41, 5.9, 44.8, 4.88)
            case 4: MPULowPass(4, 20, 9.9, 21.2, 8.87)
            case 5: MPULowPass(5, 10, 17.85, 10.2, 16.83)
            default: MPULowPass(6, 5, 33.48, 5.05, 32.48)
            }
        case .icm206xx:
            switch setting {
            case 1: MPULowPass(1, 176, 2.9, 218.1, 1.88)
            case 2...5: Self.mpu9250.row(setting)
            default: MPULowPass(6, 5, 33.48, 5.1, 32.48)
            }
        }
    }

    /// The widest low-pass that passes nothing above half of `rate`, or the narrowest if none qualifies.
    func row(forRate rate: Double) -> MPULowPass {
        // No `for` loop: in an unoptimised build, its iterator over a range of bytes is allocated on the heap.
        var setting: UInt8 = 1
        while setting < 6 {
            let row = row(setting)
            if max(row.bandwidth, row.accelerometerBandwidth) <= rate / 2 { return row }
            setting += 1
        }
        return row(6)
    }
}
