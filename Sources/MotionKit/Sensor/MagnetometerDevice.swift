internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// A magnetometer that is read together with a motion chip, without the type of its driver.
///
/// The thread that opens it passes it to the sensor thread with the chip, and only one of them uses it at a time.
protocol MagnetometerDevice: AnyObject, Sendable {
    /// The part's name.
    var name: String { get }

    /// What it does, and its counters.
    var status: MagnetometerStatus { get }

    /// Does whatever work is due. Returns a reading if there is a new one.
    func poll() -> MagneticSample?

    /// Puts it to sleep.
    func stop() throws(BusError)
}

/// A magnetometer with a driver of IMUDrivers.
final class DrivenMagnetometer<
    Part: MagnetometerPart, Bus: RegisterBus & ~Copyable, Clock: MonotonicClock
>: MagnetometerDevice, @unchecked Sendable {
    private var driver: MagnetometerDriver<Part, Bus, Clock>

    init(_ driver: consuming MagnetometerDriver<Part, Bus, Clock>) { self.driver = driver }

    var name: String { "\(driver.info.name)" }
    var status: MagnetometerStatus { driver.status }
    func poll() -> MagneticSample? { driver.poll().sample }
    func stop() throws(BusError) { try driver.stop() }
}

/// The magnetometers that belong to chips.
enum ChipMagnetometer: Equatable {
    case ak8963
    case ak09916
    case lsm9ds1

    /// That of the chip with this family and identity; `nil` if it has none that is read.
    init?(family: IMUFamily, identity: UInt8) {
        switch (family, identity) {
        case (.mpu6050, 0x71), (.mpu6050, 0x73): self = .ak8963
        case (.icm20948, _): self = .ak09916
        case (.lsm9ds1, _): self = .lsm9ds1
        default: return nil
        }
    }

    /// The addresses that it can have, beside a chip at `chip`; the usual one first. The pins of an LSM9DS1 that select its own
    /// and that of the magnetometer are usually connected.
    func addresses(besideChipAt chip: UInt8) -> [UInt8] {
        switch self {
        case .ak8963, .ak09916: [0x0C]
        case .lsm9ds1: chip == 0x6A ? [0x1C, 0x1E] : [0x1E, 0x1C]
        }
    }

    /// Opens it; nothing is sent yet.
    func open(on path: String, besideChipAt chip: UInt8) throws(LinuxSensorsError) -> any MagnetometerDevice {
        let addresses = addresses(besideChipAt: chip)
        let found = addresses.count > 1 ? addresses.first { Self.isLSM9DS1Magnetometer(at: $0, on: path) } : nil
        let bus = try I2CDevice(path: path, address: found ?? addresses[0])
        switch self {
        case .ak8963:
            return DrivenMagnetometer(
                MagnetometerDriver<AK8963, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
        case .ak09916:
            return DrivenMagnetometer(
                MagnetometerDriver<AK09916, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
        case .lsm9ds1:
            return DrivenMagnetometer(
                MagnetometerDriver<LSM9DS1Magnetometer, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
        }
    }
}

extension ChipMagnetometer {
    /// Whether the magnetometer of an LSM9DS1 answers with its identity.
    private static func isLSM9DS1Magnetometer(at address: UInt8, on path: String) -> Bool {
        do throws(LinuxSensorsError) {
            var device = try I2CDevice(path: path, address: address)
            do throws(BusError) { return try device.read(0x0F) == 0x3D } catch { return false }
        } catch {
            return false
        }
    }
}

extension SensorSelection {
    /// The magnetometer of the chosen chip if the settings ask for it, or why there is none: one sentence.
    func magnetometer(
        of choice: SensorScan.Choice, _ settings: IMUSettings
    ) -> (device: (any MagnetometerDevice)?, note: String?) {
        guard settings.connectsMagnetometer else { return (nil, nil) }
        guard let kind = ChipMagnetometer(family: choice.family, identity: choice.identity) else {
            return (nil, "\(vocabulary.magnetometer): the \(choice.name) has no magnetometer that is read")
        }
        do throws(LinuxSensorsError) {
            return (try kind.open(on: choice.place.bus, besideChipAt: choice.place.address), nil)
        } catch {
            return (nil, "\(vocabulary.magnetometer): \(error)")
        }
    }
}
