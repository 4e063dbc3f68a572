internal import Glibc
internal import IMUDrivers
internal import JostleAgent
internal import JostleConfiguration
internal import LinuxSensors
internal import LinuxSystem
internal import MotionKit

/// Examines the sensor as far as it can be done without reading it: the bus, its device file, the chips on it.
struct SensorExamination {
    private(set) var findings: [Finding] = []

    /// The sensor to measure with; `nil` if there is none, or if it cannot be opened.
    private(set) var subject: Subject?

    /// A sensor that is free.
    enum Subject {
        case chip(SensorScan.Choice)
        case kernel
    }

    private let settings: JostleSettings
    private let reader: FileReader
    private let board: BoardBuses

    init(_ settings: JostleSettings, reader: FileReader, board: BoardBuses = .ofThisMachine()) {
        self.settings = settings
        self.reader = reader
        self.board = board
        let sensor = settings.sensor
        if !sensor.isEnabled {
            findings.append(
                .warning(
                    .chip, "the agent does not measure, because sensor.enabled is false", "jostle start",
                    "For ever: remove sensor.enabled from the configuration"))
        }
        switch sensor.driver {
        case .virtual:
            findings.append(
                .warning(
                    .chip, "the movements are simulated, because sensor.driver is virtual",
                    "To read a real chip, remove sensor.driver from the configuration"))
        case .kernel,
            .automatic where sensor.device != nil:
            examineKernelDevices(SensorScan(bus: sensor.bus, address: sensor.address))
        case .automatic: examineBuses(family: nil)
        case .family(let family): examineBuses(family: family)
        }
    }

    // MARK: Buses

    private mutating func examineBuses(family: IMUFamily?) {
        let sensor = settings.sensor
        let scan = SensorScan(
            bus: sensor.bus, address: sensor.address, family: family,
            assumedIdentity: settings.imu.assumedIdentity)
        // Without a bus that a chip could be on, the agent takes a kernel driver's device.
        if scan.choice == nil, scan.kernelChoice != nil, scan.buses.allSatisfy(\.hasNoChip) {
            return examineKernelDevices(scan)
        }
        findings.append(board.finding(wanted: sensor.bus))
        guard !scan.buses.isEmpty, sensor.bus == nil || board.exists(sensor.bus ?? "") else { return }
        let obstacles = scan.buses.map { bus in (bus.path, obstacle(to: bus)) }
        examineAccess(obstacles, group: "i2c")
        examineChips(scan)
    }

    /// What keeps the agent's user from opening a bus. This process has just tried it.
    private func obstacle(to bus: SensorScan.BusReport) -> FileReader.Obstacle? {
        guard reader.name == nil else { return reader.obstacle(toOpening: bus.path) }
        guard let failure = bus.failure, failure.busError.kind == .accessDenied else { return nil }
        return .refused(failure.shortDescription)
    }

    /// Whether the agent's user may open the device files.
    private mutating func examineAccess(_ files: [(path: String, obstacle: FileReader.Obstacle?)], group: String) {
        var good: [String] = []
        for (path, obstacle) in files {
            switch obstacle {
            case nil: good.append(path)
            case .unknown(let reason)?: findings.append(.unknown(.access, "\(path): \(reason)"))
            case .refused(let reason)?:
                let steps = Self.steps(toOpen: path, as: reader, group: group)
                findings.append(.failed(.access, "\(path): \(reason)", steps, status: .permission))
            }
        }
        guard !good.isEmpty else { return }
        let user = reader.name.map { "user \($0)" } ?? "this user"
        findings.append(.ok(.access, "\(user) may open \(good.joined(separator: ", "))"))
    }

    /// How to get access to a device file.
    private static func steps(toOpen path: String, as reader: FileReader, group: String) -> [String] {
        var status = stat()
        let owner = stat(path, &status) == 0 ? Accounts.group(status.st_gid) : nil
        guard let owner, owner != "root", status.st_mode & 0o060 == 0o060 else {
            return [
                "Give the file to the group \(group), as the udev rule of the package does: sudo apt install jostle, or "
                    + "sudo make install, and restart the board"
            ]
        }
        if let name = reader.name {
            return ["sudo usermod -aG \(owner) \(name)", "sudo systemctl restart jostle"]
        }
        return ["sudo usermod -aG \(owner) $USER", "Log out and in again"]
    }

    // MARK: Chips

    private mutating func examineChips(_ scan: SensorScan) {
        for bus in scan.buses {
            guard let failure = bus.failure else { continue }
            if failure.busError.kind == .accessDenied {
                // The agent's user may, or the finding is there.
                if reader.name != nil {
                    findings.append(
                        .unknown(
                            .chip, "you may not open \(bus.path), so the chips on it are unknown", "sudo jostle doctor")
                    )
                }
            } else if !bus.isOfDisplay {
                let finding = Finding.failed(.bus, "\(failure)", failure.advice(in: .agent).map { [$0] } ?? [])
                findings.append(scan.choice == nil ? finding : finding.asWarning)
            }
        }
        if let choice = scan.choice {
            let place = "\(hexadecimal(choice.place.address)) on \(choice.place.bus)"
            findings.append(.ok(.chip, "\(choice.name) at \(place): \(choice.reason)"))
            subject = .chip(choice)
            examineRate(scan, choice)
            return
        }
        guard scan.buses.contains(where: { $0.failure == nil }) else { return }
        if let (place, holder) = scan.chipInUse {
            return findings.append(Self.finding(of: holder, at: "\(hexadecimal(place.address)) on \(place.bus)"))
        }
        if let stuck = scan.buses.first(where: { $0.isStuck && !$0.isOfDisplay }) {
            findings.append(
                .failed(
                    .chip, "the bus \(stuck.path) is stuck or too slow: no transfer ends in time",
                    [
                        "Take the sensor off the bus: if the bus works then, the sensor or its wires hold a line down",
                        "Shorten the wires; SDA and SCL need pull-up resistors, which most sensor boards have",
                    ]))
            return
        }
        let error = SensorError.notFound(scan)
        findings.append(.failed(.chip, error.description(in: .agent), Self.steps(for: scan)))
    }

    /// The sensor is in use, most likely by the agent itself.
    private static func finding(of holder: ChipLock.Holder, at place: String) -> Finding {
        if holder.name == "jostle" || holder.processIdentifier == nil {
            return .ok(
                .chip, "\(holder) reads the chip at \(place); to examine the chip itself, stop the service first")
        }
        return .failed(
            .chip, "\(holder) uses the chip at \(place)", holder.processIdentifier.map { ["sudo kill \($0)"] } ?? [])
    }

    /// What to do if no chip can be used.
    private static func steps(for scan: SensorScan) -> [String] {
        let buses = scan.buses.filter { !$0.isOfDisplay }
        let number = buses.first.flatMap { I2CBus(path: $0.path)?.number } ?? 1
        if buses.allSatisfy({ $0.chips.allSatisfy(\.isSilent) }) {
            return [
                "Check the four wires: VCC to 3V3 (pin 1), SDA to pin 3, SCL to pin 5, GND to pin 6",
                "sudo i2cdetect -y \(number)   # shows 68 or 69 for an MPU-6050",
            ]
        }
        return ["jostle scan   # shows what answers at each address"]
    }

    private mutating func examineRate(_ scan: SensorScan, _ choice: SensorScan.Choice) {
        guard let rate = scan.rate(of: choice, settings.imu) else { return }
        if let refusal = rate.refusal {
            findings.append(
                .failed(
                    .speed, refusal.description(in: .agent), ["Lower sensor.rate, or raise the bus clock"],
                    status: .configuration))
            subject = nil
            return
        }
        let notes = rate.notes(in: .agent)
        findings += notes.map { .warning(.speed, $0) }
        if notes.isEmpty { findings.append(.ok(.speed, rate.summary)) }
    }

    // MARK: Kernel drivers

    private mutating func examineKernelDevices(_ scan: SensorScan) {
        let sensor = settings.sensor
        let devices = scan.kernelDevices
        guard
            let choice = SensorScan.kernelChoice(
                among: devices, named: sensor.device, bus: sensor.bus, address: sensor.address)
        else {
            let known = devices.map(\.title).joined(separator: ", ")
            findings.append(
                .failed(
                    .chip,
                    "no kernel driver has \(sensor.device.map { "a sensor called \($0)" } ?? "an accelerometer")"
                        + (known.isEmpty ? "" : "; there are \(known)"),
                    ["Load the driver of the chip, or read it directly: remove sensor.driver from the configuration"]))
            return
        }
        findings.append(.ok(.chip, "a kernel driver has \(choice.name): \(choice.reason)"))
        let paths = [choice.accelerometer, choice.gyroscope].compactMap { $0 }.map { "/dev/\($0.identifier)" }
        examineAccess(paths.map { ($0, reader.obstacle(toReading: $0)) }, group: "iio")
        if paths.allSatisfy({ access($0, R_OK) == 0 }) { subject = .kernel }
    }
}

extension SensorScan.BusReport {
    /// Whether it leads to a display, whose silence or failures mean nothing: `fef04500.i2c`, `vc4-hdmi`, `DPDDC-A`.
    fileprivate var isOfDisplay: Bool {
        let name = (name ?? "").lowercased()
        return ["hdmi", "ddc", "vc4", "fef04500", "fef09500"].contains { name.contains(text: $0) }
    }

    /// Whether transfers on it do not end in time.
    fileprivate var isStuck: Bool {
        chips.contains { chip in
            if case .failed(let error) = chip.finding { error.kind == .timedOut } else { false }
        }
    }

    /// Whether no chip with a driver was found on it, in use or not.
    fileprivate var hasNoChip: Bool {
        chips.allSatisfy { chip in
            switch chip.finding {
            case .silent, .untouched: true
            case .taken(let error): if case .kernelDriver = error.reason { true } else { false }
            case .chip(let identity): !identity.isSupported
            case .failed: false
            }
        }
    }
}

/// The I2C buses of this board: those that the kernel drives, and those that programs can open.
struct BoardBuses: Equatable {
    /// The buses with a device file.
    var buses: [I2CBus]

    /// The names of the kernel's adapters: `i2c-1`.
    var adapters: [String]

    /// The board's model, if the firmware tells it.
    var model: String?

    static func ofThisMachine() -> BoardBuses {
        // A kernel without I2C has no such directory.
        let devices = DirectoryContents.names(ofOptional: "/sys/bus/i2c/devices")
        return BoardBuses(
            buses: I2CBus.all(), adapters: devices.filter { $0.hasPrefix("i2c-") },
            model: BoardFacts.ofThisMachine().model)
    }

    /// Whether there is a device file.
    func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private var isRaspberryPi: Bool { model?.hasPrefix("Raspberry Pi") ?? false }

    /// Whether I2C is on, and whether the wanted bus exists.
    func finding(wanted: String?) -> Finding {
        if let wanted {
            if exists(wanted) { return .ok(.bus, Self.description(of: I2CBus(path: wanted), path: wanted)) }
            guard !buses.isEmpty else {
                return .failed(.bus, "sensor.bus is \(wanted), and there is no I2C bus at all", enabling)
            }
            let others = buses.map(\.path).joined(separator: ", ")
            return .failed(
                .bus, "sensor.bus is \(wanted), which is not there; there are \(others)",
                ["Correct sensor.bus in the configuration, or remove it: then all buses are searched"],
                status: .configuration)
        }
        guard !buses.isEmpty else {
            return .failed(.bus, "there is no I2C bus that a program can open: \(reason)", enabling)
        }
        return .ok(.bus, buses.map { Self.description(of: $0, path: $0.path) }.joined(separator: ", "))
    }

    private var reason: String {
        adapters.isEmpty
            ? "I2C is switched off" : "the kernel has \(adapters.joined(separator: ", ")), but i2c-dev is not loaded"
    }

    /// How to switch I2C on.
    private var enabling: [String] {
        let load = "sudo modprobe i2c-dev   # now; the package loads it at every start"
        guard adapters.isEmpty else { return [load] }
        if isRaspberryPi { return ["sudo raspi-config nonint do_i2c 0", load] }
        return [
            "Raspberry Pi: sudo raspi-config nonint do_i2c 0",
            "Other boards: enable the bus in the device tree, with an overlay of the board's maker",
            load,
        ]
    }

    private static func description(of bus: I2CBus?, path: String) -> String {
        let clock = bus?.clockFrequency.map { "\($0 / 1000) kHz" }
        let details = [bus?.name, clock].compactMap { $0 }.joined(separator: ", ")
        return details.isEmpty ? path : "\(path) (\(details))"
    }
}
