internal import Glibc
public import IMUDrivers
public import LinuxSensors
internal import MotionCore
internal import VirtualIMU

/// Which sensor a manager reads.
public struct SensorSelection: Equatable, Sendable {
    private enum Kind: Equatable, Sendable {
        case chip(family: IMUFamily?, bus: String?, address: UInt8?)
        case kernel(device: String?, bus: String?, address: UInt8?)
        case any(bus: String?, address: UInt8?)
        case virtual(trajectory: String, seed: UInt64)
    }

    private let kind: Kind

    /// The GPIO line that the chip's data-ready pin is wired to, whose edges then are the samples' instants. Default none: they
    /// are worked out from the fill of the chip's FIFO. A virtual chip has a virtual wire in its place.
    public var dataReadyLine: GPIOPlace?

    /// Whose words `notes` of the opened device use.
    package var vocabulary = SensorVocabulary.library

    /// The chip with a driver that `SensorScan` prefers, on any bus; where there is none, a kernel driver's device.
    public static let automatic = SensorSelection.any()

    /// A chip with a driver, or else a kernel driver's device, on a certain bus or at a certain address; what is `nil` is
    /// searched.
    public static func any(bus: String? = nil, address: UInt8? = nil) -> SensorSelection {
        SensorSelection(kind: .any(bus: bus, address: address))
    }

    /// The device of a kernel driver (IIO): any, the one of this identifier, name or label, or that of the chip on a certain
    /// I2C bus or at a certain address.
    public static func kernel(
        device: String? = nil, bus: String? = nil, address: UInt8? = nil
    ) -> SensorSelection {
        SensorSelection(kind: .kernel(device: device, bus: bus, address: address))
    }

    /// A chip that is driven here, of a certain family, on a certain bus or at a certain address; what is `nil` is searched.
    public static func chip(
        family: IMUFamily? = nil, bus: String? = nil, address: UInt8? = nil
    ) -> SensorSelection {
        SensorSelection(kind: .chip(family: family, bus: bus, address: address))
    }

    /// An MPU-6050 or one of its kin on a certain bus or at a certain address; what is `nil` is searched.
    public static func mpu6050(bus: String? = nil, address: UInt8? = nil) -> SensorSelection {
        .chip(family: .mpu6050, bus: bus, address: address)
    }

    /// A made-up MPU-6050 that is moved along a trajectory: a name out of `SensorSelection.trajectories`, or the path of a
    /// recording, which is played again and again. The same seed gives the same noise and other imperfections.
    public static func virtual(_ trajectory: String = "demo", seed: UInt64 = 1) -> SensorSelection {
        SensorSelection(kind: .virtual(trajectory: trajectory, seed: seed))
    }

    /// The names of trajectories, and what the board does in each.
    public static var trajectories: [(name: String, summary: String)] {
        VirtualTrajectory.allCases.map { ($0.name, $0.summary) }
    }

    /// Seconds of one round of a trajectory, a name or the path of a recording; `nil` where it goes on for ever.
    ///
    /// - Throws: `SensorError`, as `open` does.
    package static func roundDuration(of trajectory: String) throws(SensorError) -> Double? {
        let duration = try SensorSelection.trajectory(trajectory).once.duration
        return duration.isFinite ? duration : nil
    }

    /// Finds and opens the sensor. Chip, bus and FIFO are checked for the wanted rate and batch: `notes` of the device say what
    /// differs from what is wanted.
    ///
    /// - Throws: `SensorError`, which says what can be done about it; `.rate` where the chip has no such rate, or the bus, whose
    ///   clock the system tells, does not carry it.
    package func open(_ settings: IMUSettings) throws(SensorError) -> any SensorDevice {
        switch kind {
        case .chip(let family, let bus, let address):
            return try openChip(
                SensorScan(bus: bus, address: address, family: family, assumedIdentity: settings.assumedIdentity),
                settings, mayMove: bus == nil)
        case .kernel(let device, let bus, let address):
            return try SensorSelection.openKernelDevice(device, bus: bus, address: address, settings)
        case .any(let bus, let address):
            let scan = SensorScan(bus: bus, address: address, assumedIdentity: settings.assumedIdentity)
            if scan.choice == nil, let choice = scan.kernelChoice {
                return try SensorSelection.openKernelDevice(choice, settings)
            }
            return try openChip(scan, settings, mayMove: bus == nil)
        case .virtual(let name, let seed):
            return try openVirtual(name, seed: seed, settings)
        }
    }

    /// The movement of a name, or of a recording where the name is a path.
    static func trajectory(_ name: String) throws(SensorError) -> any Trajectory {
        if let known = VirtualTrajectory(rawValue: name) { return known.trajectory }
        guard name.contains("/") || name.hasSuffix(".csv") || access(name, R_OK) == 0 else {
            throw SensorError.unknownTrajectory(name, known: VirtualTrajectory.allCases.map(\.name))
        }
        do throws(RecordingError) {
            var reader = try RecordingReader(path: name)
            var samples: [MotionSample] = []
            while let sample = try reader.next() { samples.append(sample) }
            return RecordedTrajectory(samples, isLooped: true)
        } catch {
            throw SensorError.recording(error)
        }
    }

    /// "i2c-1-0x68-MPU6050" for a chip on /dev/i2c-1.
    static func storageName(bus: String, address: UInt8, part: String) -> String {
        let name = bus.split(separator: "/").last ?? "bus"
        let letters = part.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return "\(name)-\(hexadecimal(address))-\(letters)"
    }

    private func openVirtual(
        _ name: String, seed: UInt64, _ settings: IMUSettings
    ) throws(SensorError) -> any SensorDevice {
        let clock = SystemClock()
        let chip = VirtualMPU6050(
            trajectory: try SensorSelection.trajectory(name), seed: seed, start: clock.now())
        let notes = try check(settings)
        let names = DeviceNames(title: "virtual MPU-6050 (\(name))", storage: "virtual", notes: notes)
        let bus = VirtualBus(chip, clock: clock)
        guard dataReadyLine != nil else {
            return DriverDevice(MPU6050(bus: bus, clock: clock, settings: settings), names, isSimulated: true)
        }
        let wire = VirtualWire()
        chip.connect(wire)
        let line = VirtualDataReadyLine(wire, clock: clock)
        return DriverDevice(
            ChipDriver<MPUFamily, VirtualBus<SystemClock>, SystemClock, VirtualDataReadyLine<SystemClock>>(
                bus: bus, clock: clock, settings: settings, line: line),
            names, isSimulated: true)
    }

    /// Checks the wanted rate against what is known without touching a bus: the named family and the named bus's clock.
    ///
    /// - Returns: what differs from what is wanted, a sentence each.
    /// - Throws: `SensorError.rate` where it is sure that it cannot be done.
    @discardableResult
    package func check(_ settings: IMUSettings) throws(SensorError) -> [String] {
        let rate: SensorRate?
        switch kind {
        case .virtual:
            rate = ChipRegistry.all.first { $0.family == .mpu6050 }?.rate(settings, identity: nil, bus: .none)
        case .chip(let family, let bus, _):
            guard let family, let chip = ChipRegistry.all.first(where: { $0.family == family }) else { return [] }
            let clock = bus.flatMap { path in I2CBus.all().first { $0.path == path } }?.clockFrequency
            rate = chip.rate(
                settings, identity: settings.assumedIdentity, bus: clock == nil ? .none : SensorBusClock(clock))
        case .any, .kernel:
            return []
        }
        if let refusal = rate?.refusal { throw .rate(refusal) }
        return rate?.notes(in: vocabulary) ?? []
    }

    /// Opens the kernel's device that is preferred, or meant.
    package static func openKernelDevice(
        _ name: String? = nil, bus: String? = nil, address: UInt8? = nil, _ settings: IMUSettings,
        in places: IIOPlaces = IIOPlaces()
    ) throws(SensorError) -> any SensorDevice {
        let devices = IIODevice.all(in: places)
        guard let choice = SensorScan.kernelChoice(among: devices, named: name, bus: bus, address: address) else {
            throw SensorError.kernelDevice(IIOError(.notFound(known: devices.map(\.title)), device: name ?? "auto"))
        }
        return try openKernelDevice(choice, settings, in: places)
    }

    private static func openKernelDevice(
        _ choice: KernelSensorChoice, _ settings: IMUSettings, in places: IIOPlaces = IIOPlaces()
    ) throws(SensorError) -> any SensorDevice {
        do throws(IIOError) {
            return try KernelSensor(choice, settings, in: places)
        } catch {
            throw SensorError.kernelDevice(error)
        }
    }

    /// Opens the chip that a scan chose; one that may move is looked for on other buses, too, when its adapter is pulled out.
    private func openChip(
        _ scan: SensorScan, _ settings: IMUSettings, mayMove: Bool
    ) throws(SensorError) -> any SensorDevice {
        guard let choice = scan.choice, let chip = ChipRegistry.all.first(where: { $0.family == choice.family }) else {
            throw SensorError.notFound(scan)
        }
        let place = choice.place
        let rate = scan.rate(of: choice, settings)
        if let refusal = rate?.refusal { throw SensorError.rate(refusal) }
        let names = DeviceNames(
            title: "\(choice.name) at \(hexadecimal(place.address)) on \(place.bus)",
            storage: SensorSelection.storageName(bus: place.bus, address: place.address, part: choice.name),
            notes: rate?.notes(in: vocabulary) ?? [])
        let search =
            mayMove ? I2CDevice.Search(register: chip.identityRegister, identity: choice.identity) : nil
        guard let dataReadyLine, let openWithLine = chip.openWithLine else {
            return chip.open(try Self.device(at: place, search), settings, names)
        }
        return openWithLine(try Self.device(at: place, search), try Self.line(at: dataReadyLine), settings, names)
    }

    private static func line(at place: GPIOPlace) throws(SensorError) -> GPIOLine {
        do throws(GPIOError) {
            return try GPIOLine(place)
        } catch {
            throw SensorError.dataReadyLine(error)
        }
    }

    private static func device(
        at place: SensorScan.Place, _ search: I2CDevice.Search?
    ) throws(SensorError) -> I2CDevice {
        do throws(LinuxSensorsError) {
            return try I2CDevice(path: place.bus, address: place.address, search: search)
        } catch {
            throw SensorError.unavailable(error)
        }
    }
}

/// A byte as people write addresses and identities: 0x68.
package func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "0x" + (digits.count == 1 ? "0" : "") + digits
}
