internal import Documents
internal import IMUDrivers
internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSensors
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// `jostle scan`: lists the chips found, and the one that `auto` would take.
enum ScanCommand {
    static let usage = CommandUsage(
        name: "scan",
        summary: "look for sensors on the I2C buses; writes to a chip only for the self-test",
        details: """
            It reads the identity registers at each address that a supported chip can have. Among the chips found, auto
            takes the one with the preferred family, then the first by bus and address. It does not touch a chip that a
            kernel driver owns; if there is no other chip, auto reads that one through the kernel's device (iio).

            The self-test is only for the MPU-6050. It moves the proof masses of the chip that auto would take by
            electrostatic forces, and compares the response with the factory's values stored in the chip. For 1.2 s the
            board must lie still, and no other program may use the chip, which is asleep afterwards. The exit status
            is 0 only if every axis passed.
            """,
        options: [
            Option("bus", value: "PATH", help: "search this bus only, for example /dev/i2c-1"),
            Option("address", value: "ADDRESS", help: "search this address only, for example 0x68"),
            Option(
                "driver", value: "FAMILY",
                help: "consider chips of this family only: \(SensorScan.families.map(\.name).joined(separator: ", "))",
                suggestions: .words(SensorScan.families.map(\.name))),
            Option("self-test", help: "run the chip's self-test and compare it with the factory's values"),
            Option("verbose", help: "also say which of the constants used for a chip no source confirms"),
            Option("json", help: "print JSON"),
        ])

    static func run(_ arguments: Arguments) throws {
        let address = try arguments.value("address").map(ScanCommand.address)
        let family = try arguments.value("driver").map(ScanCommand.family)
        let scan = SensorScan(bus: arguments.value("bus"), address: address, family: family)
        let test = arguments.has("self-test") ? scan.choice.map { SelfTestResult(testing: $0) } : nil
        if arguments.has("json") {
            var object = json(scan)
            if let test { object.add("self_test", test.json) }
            Output.json(object.description)
        } else {
            printTable(scan, isVerbose: arguments.has("verbose"))
            if let table = test?.table { Output.text("\n\(table)") }
        }
        if let test { return try test.check() }
        guard scan.choice == nil, scan.kernelChoice == nil else { return }
        throw SensorError.notFound(scan)
    }

    private static func address(_ text: String) throws -> UInt8 {
        guard let value = UInt8(decimalOrHexadecimal: text), (0x08...0x77).contains(value) else {
            throw Failure(.usage, "--address is \"\(text)\", not an I2C address from 0x08 to 0x77")
        }
        return value
    }

    private static func family(_ text: String) throws -> IMUFamily {
        guard let family = IMUFamily(name: text), SensorScan.families.contains(family) else {
            let known = SensorScan.families.map(\.name)
            let meant = PartNames.family(of: text).map { "; did you mean \"\($0.name)\"?" }
            throw Failure(
                .usage,
                "--driver is \"\(text)\", not a chip family: \(known.joined(separator: ", "))"
                    + (meant ?? EditDistance.suggestion(for: text, among: known)))
        }
        return family
    }

    private static func printTable(_ scan: SensorScan, isVerbose: Bool) {
        for bus in scan.buses {
            let clock = bus.clockFrequency.map { ", \($0 / 1000) kHz" } ?? ""
            Output.line("\(bus.path)\(bus.name.map { "  (\($0)\(clock))" } ?? "")")
            if let failure = bus.failure ?? bus.limitation { Output.line("  \(failure.shortDescription)") }
            let found = bus.chips.filter { !$0.isSilent }
            let chosen = scan.choice.flatMap { $0.place.bus == bus.path ? $0.place.address : nil }
            let rows = found.map { row(for: $0, isChoice: $0.address == chosen) }
            if !rows.isEmpty {
                let header = ["address", "chip", "family", "identity", ""]
                Output.text(TextTable([header] + rows).description)
            }
            for chip in found {
                if let text = note(for: chip, on: bus, hasChoice: scan.choice != nil) { Output.line("  \(text)") }
                if isVerbose, let text = sources(for: chip) { Output.line("  \(text)") }
            }
            let silent = bus.chips.filter(\.isSilent).map { hexadecimal($0.address) }
            if !silent.isEmpty { Output.line("  no answer at \(silent.joined(separator: ", "))") }
        }
        if !scan.kernelDevices.isEmpty {
            Output.line("devices of kernel drivers (iio)")
            let taken = scan.choice == nil ? scan.kernelChoice : nil
            let rows = scan.kernelDevices.map { row(for: $0, taken) }
            Output.text(TextTable([["device", "name", "label", "measures", "driver", ""]] + rows).description)
        }
        if let choice = scan.choice {
            let place = "\(hexadecimal(choice.place.address)) on \(choice.place.bus)"
            Output.line("auto takes the \(choice.name) at \(place): \(choice.reason)")
            if let rate = scan.rate(of: choice, IMUSettings()) { Output.line(rate.summary) }
        } else if let choice = scan.kernelChoice {
            Output.line("auto takes the kernel's \(choice.name): no other chip is free, and it is \(choice.reason)")
        }
    }

    /// What else a chip could be, or what to do about one without a driver, if no error will say that.
    private static func note(
        for chip: SensorScan.ChipReport, on bus: SensorScan.BusReport, hasChoice: Bool
    ) -> String? {
        guard case .chip(let identity) = chip.finding else { return nil }
        if let shared = identity.sharedNote(in: .agent) { return "the chip at \(hexadecimal(chip.address)) \(shared)" }
        return hasChoice ? identity.advice(at: chip.address, on: bus.path, .agent) : nil
    }

    /// Which constants of a chip with a driver no source confirms.
    private static func sources(for chip: SensorScan.ChipReport) -> String? {
        guard case .chip(let identity) = chip.finding, identity.isSupported, let name = identity.name else {
            return nil
        }
        let unsourced = identity.unsourced.map { "no source for \($0)" } ?? "a source for every constant"
        return "\(name) at \(hexadecimal(chip.address)): \(unsourced)"
    }

    private static func row(for device: IIODevice, _ choice: KernelSensorChoice?) -> [String] {
        let isTaken = device == choice?.accelerometer || device == choice?.gyroscope
        return [
            device.identifier, device.name ?? "-", device.label ?? "-", words(for: device.quantities),
            "\(device.driver ?? "unknown") on \(device.hardware)", isTaken ? "<- auto takes this" : "",
        ]
    }

    private static func words(for quantities: [IIOQuantity]) -> String {
        let words = quantities.map { $0 == .acceleration ? "acceleration" : "rotation" }
        return words.isEmpty ? "other quantities" : words.joined(separator: ", ")
    }

    private static func row(for chip: SensorScan.ChipReport, isChoice: Bool) -> [String] {
        let address = hexadecimal(chip.address)
        switch chip.finding {
        case .chip(let identity):
            return [
                address, identity.name.map { "\($0)" } ?? "unknown", identity.family?.name ?? "no driver",
                "\(hexadecimal(identity.identity)) in \(hexadecimal(identity.register))",
                isChoice ? "<- auto takes this" : "",
            ]
        case .silent, .taken, .failed, .untouched:
            return [address, words(for: chip.finding)]
        }
    }

    private static func words(for finding: SensorScan.Finding) -> String {
        switch finding {
        case .silent: "-"
        case .chip(let identity): identity.explanation
        case .taken(let error): error.shortDescription
        case .failed(let error): error.explanation
        case .untouched: "not read: no supported chip has this address"
        }
    }

    private static func json(_ scan: SensorScan) -> JSONObject {
        var object = JSONObject()
        object.add(
            "buses",
            scan.buses.map { bus in
                var entry = JSONObject()
                entry.add("path", bus.path)
                entry.add("name", bus.name)
                entry.add("clock_hz", bus.clockFrequency.map { Int64($0) })
                entry.add("error", (bus.failure ?? bus.limitation).map { "\($0)" })
                entry.add("chips", bus.chips.map(ScanCommand.json))
                return entry
            })
        if let choice = scan.choice {
            var entry = JSONObject()
            entry.add("bus", choice.place.bus)
            entry.add("address", hexadecimal(choice.place.address))
            entry.add("family", choice.family.name)
            entry.add("name", choice.name)
            entry.add("reason", choice.reason)
            object.add("choice", entry)
            object.add("rate", scan.rate(of: choice, IMUSettings()).flatMap(ScanCommand.json))
        }
        object.add("kernel_devices", scan.kernelDevices.map(ScanCommand.json))
        if scan.choice == nil, let choice = scan.kernelChoice {
            var entry = JSONObject()
            entry.add("device", choice.accelerometer.identifier)
            entry.add("gyroscope_device", choice.gyroscope?.identifier)
            entry.add("name", choice.name)
            entry.add("reason", choice.reason)
            object.add("kernel_choice", entry)
        }
        return object
    }

    private static func json(_ device: IIODevice) -> JSONObject {
        var entry = JSONObject()
        entry.add("device", device.identifier)
        entry.add("name", device.name)
        entry.add("label", device.label)
        entry.add("driver", device.driver)
        entry.add("hardware", device.hardware)
        entry.add("accelerometer", device.quantities.contains(.acceleration))
        entry.add("gyroscope", device.quantities.contains(.rotationRate))
        return entry
    }

    /// The share of the bus that the default rate takes, and the highest possible rate.
    private static func json(_ rate: SensorRate) -> JSONObject? {
        guard let clock = rate.clock else { return nil }
        var entry = JSONObject()
        entry.add("rate_hz", rate.load.rate, decimals: 1)
        entry.add("bus_percent", 100 * rate.load.share(ofClock: clock), decimals: 0)
        entry.add("highest_rate_hz", rate.allowed, decimals: 1)
        return entry
    }

    private static func json(_ chip: SensorScan.ChipReport) -> JSONObject {
        var entry = JSONObject()
        entry.add("address", hexadecimal(chip.address))
        switch chip.finding {
        case .silent: entry.add("found", false)
        case .chip(let identity):
            entry.add("found", true)
            entry.add("identity", hexadecimal(identity.identity))
            entry.add("identity_register", hexadecimal(identity.register))
            entry.add("family", identity.family?.name)
            entry.add("name", identity.name.map { "\($0)" })
            entry.add("supported", identity.isSupported)
            entry.add("unsourced", identity.unsourced)
            if let shared = SharedIdentity(of: identity.identity, in: identity.register) {
                entry.add("possible_parts", shared.parts)
            }
        case .taken, .failed, .untouched: entry.add("error", words(for: chip.finding))
        }
        return entry
    }
}

/// The result of `jostle scan --self-test`, for people and for programs.
struct SelfTestResult {
    private let place: SensorScan.ChipAddress
    private let result: Result<MPU6050SelfTestReport, SensorSelfTest.Failure>

    /// Runs the self-test.
    init(testing choice: SensorScan.Choice) {
        place = choice.place
        do {
            result = .success(try SensorSelfTest.run(on: choice))
        } catch {
            result = .failure(error)
        }
    }

    private static let axes = ["x", "y", "z"]

    /// The result, one line per axis; `nil` if the test was not completed.
    var table: String? {
        guard case .success(let report) = result else { return nil }
        var rows = [["", "response", "factory", "deviation", ""]]
        for index in 0..<3 {
            rows.append(row("gyroscope", index, report.gyroscope[index], 180 / .pi, "%.1f °/s"))
        }
        for index in 0..<3 {
            rows.append(row("accelerometer", index, report.accelerometer[index], 1 / standardGravity, "%.3f g"))
        }
        return "self-test of \(hexadecimal(place.address)) on \(place.bus): \(report.verdict.word)\n"
            + TextTable(rows, rightAligned: 1...3).description
    }

    private func row(
        _ sensor: String, _ index: Int, _ axis: MPU6050SelfTestReport.Axis, _ scale: Double, _ format: String
    ) -> [String] {
        [
            "\(sensor) \(SelfTestResult.axes[index])", formatted(axis.response * scale, format),
            axis.factoryTrim == 0 ? "-" : formatted(axis.factoryTrim * scale, format),
            axis.deviation.map { formatted($0 * 100, "%+.1f %%") } ?? "-", axis.verdict.word,
        ]
    }

    /// The result in °/s, g and per cent.
    var json: JSONObject {
        var object = JSONObject()
        object.add("bus", place.bus)
        object.add("address", hexadecimal(place.address))
        switch result {
        case .failure(let error):
            object.add("error", "\(error)")
        case .success(let report):
            object.add("verdict", report.verdict.key)
            object.add("disturbance", report.disturbance?.explanation)
            object.add("gyroscope_dps", SelfTestResult.json(report.gyroscope, 180 / .pi))
            object.add("accelerometer_g", SelfTestResult.json(report.accelerometer, 1 / standardGravity))
        }
        return object
    }

    private static func json(_ sensor: MPU6050SelfTestReport.Axes, _ scale: Double) -> JSONObject {
        var object = JSONObject()
        for index in 0..<3 {
            let axis = sensor[index]
            var entry = JSONObject()
            entry.add("response", axis.response * scale, decimals: 4)
            entry.add("factory_trim", axis.factoryTrim == 0 ? nil : axis.factoryTrim * scale, decimals: 4)
            entry.add("deviation_percent", axis.deviation.map { $0 * 100 }, decimals: 2)
            entry.add("verdict", axis.verdict.key)
            object.add(axes[index], entry)
        }
        return object
    }

    /// Throws unless every axis passed: status 69, or 77 if permission is denied.
    func check() throws {
        switch result {
        case .failure(.unavailable(let error)):
            throw SensorError.unavailable(error)
        case .failure(let error):
            throw Failure(.unavailable, "\(error)")
        case .success(let report):
            let movement = report.disturbance.map { ": \($0.explanation)" } ?? ""
            let reason: String? =
                switch report.verdict {
                case .passed: nil
                case .failed:
                    "the chip failed its self-test: an axis deviates by more than 14 % from the factory's response"
                case .noTrim:
                    "the self-test is inconclusive: the chip holds no factory values to compare with, as is common in copies"
                case .disturbed:
                    "the board did not lie still during the self-test\(movement); lay it down and try again"
                }
            if let reason { throw Failure(.unavailable, reason) }
        }
    }
}

extension MPU6050SelfTestReport.Verdict {
    /// The verdict for people.
    fileprivate var word: String {
        switch self {
        case .passed: "passed"
        case .failed: "failed"
        case .noTrim: "no factory trim"
        case .disturbed: "disturbed"
        }
    }

    /// The verdict for programs.
    fileprivate var key: String { self == .noTrim ? "no_trim" : word }
}
