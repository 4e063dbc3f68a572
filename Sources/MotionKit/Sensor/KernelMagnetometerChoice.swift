internal import LinuxSensors
internal import MotionCore

/// The kernel's device that measures the magnetic field for a kernel sensor.
struct KernelMagnetometerChoice: Equatable {
    var device: IIODevice

    /// Whether it is the device of the accelerometer.
    let isOwn: Bool

    /// How closely a magnetometer belongs to a sensor, the closest first.
    private enum Relation: Int {
        case own
        /// Another device of the same chip.
        case sameChip
        /// On the bus behind the chip.
        case behindChip
        /// On the same I2C bus, and called like it: `lsm9ds1_magn` beside `lsm9ds1_imu`.
        case namesake
        case sameBus
    }

    /// Chooses the closest magnetometer; among equals the one with the lowest address, since the numbers of devices may
    /// change with each boot. `nil` if there is none.
    init?(for accelerometer: IIODevice, among devices: [IIODevice]) {
        let candidates = devices.compactMap { device in
            KernelMagnetometerChoice.relation(of: device, to: accelerometer).map { (device: device, relation: $0) }
        }
        let best = candidates.min { a, b in
            func key(_ candidate: (device: IIODevice, relation: Relation)) -> (Int, UInt8, Int) {
                (candidate.relation.rawValue, candidate.device.i2cPlace?.address ?? 0, candidate.device.number)
            }
            return key(a) < key(b)
        }
        guard let best else { return nil }
        device = best.device
        isOwn = best.relation == .own
    }

    /// Finds the same magnetometer after its driver was bound again. Another one is not taken: it would need another
    /// calibration.
    func found(for accelerometer: IIODevice, among devices: [IIODevice]) -> KernelMagnetometerChoice? {
        let same = devices.filter { $0.name == device.name && $0.i2cPlace?.address == device.i2cPlace?.address }
        return KernelMagnetometerChoice(for: accelerometer, among: same)
    }

    private static func relation(of device: IIODevice, to accelerometer: IIODevice) -> Relation? {
        guard device.measuresField else { return nil }
        if device.identifier == accelerometer.identifier { return .own }
        if device.chip == accelerometer.chip { return .sameChip }
        if device.gate == accelerometer.chip { return .behindChip }
        guard let bus = accelerometer.i2cPlace?.bus, device.i2cPlace?.bus == bus else { return nil }
        let isNamesake = part(device) != nil && part(device) == part(accelerometer)
        return isNamesake ? .namesake : .sameBus
    }

    /// The part in a name such as `lsm9ds1_magn`.
    private static func part(_ device: IIODevice) -> Substring? {
        device.name?.prefix { $0 != "_" && $0 != "-" }
    }

    // MARK: What its driver needs

    /// Whether the driver is the one that reads the magnetometer of an MPU-9150, MPU-9250 or MPU-9255 through the chip.
    private var isBehindMPU: Bool { isOwn && device.driver?.hasPrefix("inv-mpu6050") == true }

    /// Whether single values can be read in time. inv_mpu6050 starts the magnetometer for each of them and waits for two
    /// of its periods, 40 ms or more; and it refuses while its buffer is on.
    var hasQuickValues: Bool { !isBehindMPU }

    /// How long before a captured sample its field was measured, s, if samples are taken at `rate`, Hz.
    ///
    /// inv_mpu6050 lets the chip start a measurement at most 50 times a second, and fetch the one before. That one was
    /// started one interval earlier, and lasted 7.2 ms.
    func age(atRate rate: Double) -> Double {
        guard isBehindMPU else { return 0 }
        let samples = max(1, (rate / 50).rounded(.down))
        return max(0, samples / rate - 0.0036)
    }

    /// From the magnetometer's axes to the accelerometer's; `nil` if they are the same. The kernel's matrices lead from
    /// each of them to the board.
    ///
    /// inv_mpu6050 also has a matrix for its magnetometer, but computes it by exchanging rows in that of the chip, which is
    /// right only if that one is the identity. How the magnetometer lies in the chip is known, so it is not needed.
    func rotation(to accelerometer: IIODevice) -> Matrix3? {
        guard !isBehindMPU else { return Matrix3(Vector3(0, 1, 0), Vector3(1, 0, 0), Vector3(0, 0, -1)) }
        let from = device.mountMatrix(of: .magneticField) ?? .identity
        let to = accelerometer.mountMatrix(of: .acceleration) ?? .identity
        return from == to ? nil : to.transposed * from
    }

    /// The text of a mount matrix that is ignored because it is not a rotation; otherwise `nil`.
    var ignoredMatrix: String? {
        guard !isBehindMPU, device.mountMatrix(of: .magneticField) == nil else { return nil }
        return device.mountMatrixText(of: .magneticField)
    }
}
