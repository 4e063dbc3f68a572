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

    var name: String { "\(Part.name)" }
    var status: MagnetometerStatus { driver.status }
    func poll() -> MagneticSample? { driver.poll().sample }
    func stop() throws(BusError) { try driver.stop() }
}

extension SensorSelection {
    /// The magnetometer of the chosen chip if the settings ask for it, or why there is none: one sentence.
    func magnetometer(
        of choice: SensorScan.Choice, _ settings: IMUSettings
    ) -> (device: (any MagnetometerDevice)?, note: String?) {
        guard settings.connectsMagnetometer else { return (nil, nil) }
        do {
            switch (choice.family, choice.identity) {
            case (.mpu6050, 0x71), (.mpu6050, 0x73): return (try Self.open(AK8963.self, beside: choice.place), nil)
            case (.icm20948, _): return (try Self.open(AK09916.self, beside: choice.place), nil)
            case (.lsm9ds1, _): return (try Self.open(LSM9DS1Magnetometer.self, beside: choice.place), nil)
            default: return (nil, "\(vocabulary.magnetometer): the \(choice.name) has no magnetometer that is read")
            }
        } catch {
            return (nil, "\(vocabulary.magnetometer): \(error)")
        }
    }

    /// Opens the magnetometer of a chip, where its identity answers; nothing is written yet.
    private static func open<Part: MagnetometerPart>(
        _ part: Part.Type, beside chip: SensorScan.ChipAddress
    ) throws(LinuxSensorsError) -> any MagnetometerDevice {
        // The pins of an LSM9DS1 that select its own address and that of the magnetometer are usually connected.
        let addresses = chip.address == 0x6A ? Part.addresses : Part.addresses.reversed()
        let found = addresses.count > 1 ? addresses.first { answers(part, at: $0, on: chip.bus) } : nil
        let bus = try I2CDevice(path: chip.bus, address: found ?? addresses[0])
        return DrivenMagnetometer(MagnetometerDriver<Part, I2CDevice, SystemClock>(bus: bus, clock: SystemClock()))
    }

    private static func answers<Part: MagnetometerPart>(_ part: Part.Type, at address: UInt8, on path: String) -> Bool {
        do {
            var device = try I2CDevice(path: path, address: address)
            return Part.identity.holds(in: RegisterValue(try device.read(Part.identity.register.number)))
        } catch {
            return false
        }
    }
}
