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

    /// The GPIO line that the chip's data-ready pin is wired to. Its edges give the times of the samples. By default `nil`:
    /// the times are estimated from the fill level of the chip's FIFO. A virtual chip uses a virtual line instead.
    public var dataReadyLine: GPIOPlace?

    /// The vocabulary of the opened device's `notes`.
    package var vocabulary = SensorVocabulary.library

    /// The supported chip that `SensorScan` prefers, on any bus. If there is none, a kernel driver's device.
    public static let automatic = SensorSelection.any()

    /// A supported chip, or else a kernel driver's device. If `bus` or `address` is `nil`, all are searched.
    public static func any(bus: String? = nil, address: UInt8? = nil) -> SensorSelection {
        SensorSelection(kind: .any(bus: bus, address: address))
    }

    /// The device of a kernel driver (IIO), optionally with this identifier, name or label, or of the chip on this I2C bus or
    /// at this address.
    public static func kernel(
        device: String? = nil, bus: String? = nil, address: UInt8? = nil
    ) -> SensorSelection {
        SensorSelection(kind: .kernel(device: device, bus: bus, address: address))
    }

    /// A chip read by a driver of this package. If a parameter is `nil`, all families, buses or addresses are searched.
    public static func chip(
        family: IMUFamily? = nil, bus: String? = nil, address: UInt8? = nil
    ) -> SensorSelection {
        SensorSelection(kind: .chip(family: family, bus: bus, address: address))
    }

    /// An MPU-6050 or a chip of its family. If `bus` or `address` is `nil`, all are searched.
    public static func mpu6050(bus: String? = nil, address: UInt8? = nil) -> SensorSelection {
        .chip(family: .mpu6050, bus: bus, address: address)
    }

    /// A simulated MPU-6050 that moves along a trajectory: a name in `SensorSelection.trajectories`, or the path of a
    /// recording of at most 250,000 samples, which is played in a loop. The same seed gives the same noise and other imperfections.
    public static func virtual(_ trajectory: String = "demo", seed: UInt64 = 1) -> SensorSelection {
        SensorSelection(kind: .virtual(trajectory: trajectory, seed: seed))
    }

    /// The names of trajectories, and what the board does in each.
    public static var trajectories: [(name: String, summary: String)] {
        VirtualTrajectory.allCases.map { ($0.name, $0.summary) }
    }

    /// The duration, in seconds, of one loop of a trajectory (a name, or the path of a recording); `nil` if it never ends.
    ///
    /// - Throws: `SensorError`, as `open` does.
    package static func loopDuration(of trajectory: String) throws(SensorError) -> Double? {
        let duration = try SensorSelection.trajectory(trajectory).once.duration
        return duration.isFinite ? duration : nil
    }

    /// Finds and opens the sensor. Checks whether chip, bus and FIFO can provide the requested rate and batch. The device's
    /// `notes` report any difference.
    ///
    /// - Throws: `SensorError`, with advice on what to do; `.rate` if the chip does not have the rate, or the bus, with a
    ///   clock that the system reports, is too slow for it.
    package func open(_ settings: IMUSettings) throws(SensorError) -> any SensorDevice {
        switch kind {
        case .chip(let family, let bus, let address):
            return try openChip(
                SensorScan(bus: bus, address: address, family: family, assumedIdentity: settings.assumedIdentity),
                settings, mayMove: bus == nil, mayChangeAddress: address == nil)
        case .kernel(let device, let bus, let address):
            return try SensorSelection.openKernelDevice(device, bus: bus, address: address, settings, vocabulary)
        case .any(let bus, let address):
            let scan = SensorScan(bus: bus, address: address, assumedIdentity: settings.assumedIdentity)
            if scan.choice == nil, let choice = scan.kernelChoice {
                return try SensorSelection.openKernelDevice(choice, settings, vocabulary)
            }
            return try openChip(scan, settings, mayMove: bus == nil, mayChangeAddress: address == nil)
        case .virtual(let name, let seed):
            return try openVirtual(name, seed: seed, settings)
        }
    }

    /// The most samples of a recording that is played: 20 minutes at 200 Hz, and more than a recording made by remote
    /// command has. A sample takes 104 bytes, and 176 bytes while the recording is read: 26 MB and 44 MB of the 128 MB that the
    /// service may use.
    static let maximumSamples = 250_000

    /// The trajectory with this name, or that of a recording if the name is the path of a regular file.
    static func trajectory(_ name: String) throws(SensorError) -> any Trajectory {
        if let known = VirtualTrajectory(rawValue: name) { return known.trajectory }
        guard name.contains("/") || name.hasSuffix(".csv") || access(name, R_OK) == 0 else {
            throw SensorError.unknownTrajectory(name, known: VirtualTrajectory.allCases.map(\.name))
        }
        do {
            var reader = try RecordingReader(path: name, maximumSamples: maximumSamples, mustBeRegular: true)
            return RecordedTrajectory(try reader.remainingSamples(), isLooped: true)
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
        let trajectory = try SensorSelection.trajectory(name)
        let start = clock.now()
        let hasMagnetometer = settings.connectsMagnetometer
        let (part, partName) = Self.virtualPart(settings)
        let chip = VirtualIMUChip(part, trajectory: trajectory, seed: seed, start: start)
        let notes = try check(settings)
        var names = DeviceNames(title: "virtual \(partName) (\(name))", storage: "virtual", notes: notes) { settings in
            self.rate(settings)?.refusal
        }
        if hasMagnetometer {
            let magnetometer = VirtualMagnetometer(.ak8963, trajectory: trajectory, seed: seed, start: start)
            magnetometer.connect(behind: chip)
            names.magnetometer = DrivenMagnetometer(
                MagnetometerDriver<AK8963, VirtualBus<SystemClock>, SystemClock>(
                    bus: VirtualBus(magnetometer, clock: clock), clock: clock))
        }
        return settings.readsGyroscope
            ? device(MPUFamily.self, chip, settings, names) : device(ICM42688Family.self, chip, settings, names)
    }

    /// The chip that is simulated, and its name.
    private static func virtualPart(_ settings: IMUSettings) -> (part: VirtualPart, name: String) {
        guard settings.readsGyroscope else { return (.icm42688, "ICM-42688-P") }
        return settings.connectsMagnetometer ? (.mpu9250, "MPU-9250") : (.mpu6050, "MPU-6050")
    }

    /// A virtual chip with its driver.
    private func device<Part: ChipPart>(
        _ part: Part.Type, _ chip: VirtualIMUChip, _ settings: IMUSettings, _ names: DeviceNames
    ) -> any SensorDevice {
        let clock = SystemClock()
        let bus = VirtualBus(chip, clock: clock)
        guard dataReadyLine != nil else {
            return DriverDevice(
                ChipDriver<Part, VirtualBus<SystemClock>, SystemClock, NoDataReadyLine>(
                    bus: bus, clock: clock, settings: settings, line: NoDataReadyLine()),
                names, isSimulated: true)
        }
        let wire = VirtualWire()
        chip.connect(wire)
        return DriverDevice(
            ChipDriver<Part, VirtualBus<SystemClock>, SystemClock, VirtualDataReadyLine<SystemClock>>(
                bus: bus, clock: clock, settings: settings, line: VirtualDataReadyLine(wire, clock: clock)),
            names, isSimulated: true)
    }

    /// Checks the requested rate without using a bus.
    ///
    /// - Returns: what differs from the request: one sentence each.
    /// - Throws: `SensorError.rate` if the rate is certainly not possible.
    @discardableResult
    package func check(_ settings: IMUSettings) throws(SensorError) -> [String] {
        let rate = self.rate(settings)
        if let refusal = rate?.refusal { throw .rate(refusal) }
        return rate?.notes(in: vocabulary) ?? []
    }

    /// The rate and bus load that the settings mean; `nil` if only a scan can tell which chip is read.
    private func rate(_ settings: IMUSettings) -> SensorRate? {
        switch kind {
        case .virtual:
            let family = Self.virtualPart(settings).part.family
            return ChipRegistry.all.first { $0.family == family }?.rate(settings, identity: nil, bus: .none)
        case .chip(let family, let bus, _):
            guard let family, let chip = ChipRegistry.all.first(where: { $0.family == family }) else { return nil }
            let clock = bus.flatMap { path in I2CBus.all().first { $0.path == path } }?.clockFrequency
            return chip.rate(
                settings, identity: settings.assumedIdentity, bus: clock == nil ? .none : SensorBusClock(clock))
        case .any, .kernel:
            return nil
        }
    }

    /// Opens the kernel device with this name, bus or address, or the preferred one.
    package static func openKernelDevice(
        _ name: String? = nil, bus: String? = nil, address: UInt8? = nil, _ settings: IMUSettings,
        _ vocabulary: SensorVocabulary = .library, in places: SystemPlaces = SystemPlaces()
    ) throws(SensorError) -> any SensorDevice {
        let devices = IIODevice.all(in: places)
        guard let choice = SensorScan.kernelChoice(among: devices, named: name, bus: bus, address: address) else {
            throw SensorError.kernelDevice(IIOError(.notFound(known: devices.map(\.title)), device: name ?? "auto"))
        }
        return try openKernelDevice(choice, settings, vocabulary, in: places)
    }

    private static func openKernelDevice(
        _ choice: KernelSensorChoice, _ settings: IMUSettings, _ vocabulary: SensorVocabulary,
        in places: SystemPlaces = SystemPlaces()
    ) throws(SensorError) -> any SensorDevice {
        do {
            return try KernelSensor(choice, settings, in: places, vocabulary)
        } catch {
            throw SensorError.kernelDevice(error)
        }
    }

    /// Opens the chip that a scan chose. If it `mayMove`, it is searched for on all buses after its adapter was unplugged; if
    /// it `mayChangeAddress`, it is searched for at the other addresses that were free when it is lost.
    private func openChip(
        _ scan: SensorScan, _ settings: IMUSettings, mayMove: Bool, mayChangeAddress: Bool
    ) throws(SensorError) -> any SensorDevice {
        guard let choice = scan.choice, let chip = ChipRegistry.all.first(where: { $0.family == choice.family }) else {
            throw SensorError.notFound(scan)
        }
        let place = choice.place
        let rate = scan.rate(of: choice, settings)
        if let refusal = rate?.refusal { throw SensorError.rate(refusal) }
        let magnetometer = magnetometer(of: choice, settings)
        let names = DeviceNames(
            title: "\(choice.name) at \(hexadecimal(place.address)) on \(place.bus)",
            storage: SensorSelection.storageName(bus: place.bus, address: place.address, part: choice.name),
            notes: (rate?.notes(in: vocabulary) ?? []) + (magnetometer.note.map { [$0] } ?? []),
            magnetometer: magnetometer.device
        ) { scan.rate(of: choice, $0)?.refusal }
        let search = I2CDevice.Search(
            register: chip.identityRegister, identity: choice.identity, mayMove: mayMove,
            addresses: mayChangeAddress
                ? chip.addresses.filter { $0 == place.address || scan.isFree($0, on: place.bus) } : [])
        guard let dataReadyLine, let openWithLine = chip.openWithLine else {
            return chip.open(try Self.device(at: place, search), settings, names)
        }
        return openWithLine(try Self.device(at: place, search), try Self.line(at: dataReadyLine), settings, names)
    }

    private static func line(at place: GPIOPlace) throws(SensorError) -> GPIOLine {
        do {
            return try GPIOLine(place)
        } catch {
            throw SensorError.dataReadyLine(error)
        }
    }

    private static func device(
        at place: SensorScan.ChipAddress, _ search: I2CDevice.Search?
    ) throws(SensorError) -> I2CDevice {
        do {
            return try I2CDevice(path: place.bus, address: place.address, search: search)
        } catch {
            throw SensorError.unavailable(error)
        }
    }
}

/// A byte in the usual notation of addresses and identities: 0x68.
package func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16, uppercase: true)
    return "0x" + (digits.count == 1 ? "0" : "") + digits
}
