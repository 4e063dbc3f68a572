internal import JostleAgent
internal import MotionKit

/// `jostle scan`: which chips there are, and which one `auto` would take.
enum ScanCommand {
    static let usage = CommandUsage(
        name: "scan",
        summary: "look for sensors on the I2C buses; nothing is written to any chip unless it is to be tested",
        details: """
            The self-test moves the proof masses of the chip that auto would take by electrostatic forces, and compares the
            response with what the factory noted in the chip. The board has to lie still meanwhile, for 1.2 s, and nobody
            else may use the chip, which is asleep afterwards. The status is 0 only where every axis passed.
            """,
        options: [
            CommandUsage.Option(name: "bus", value: "PATH", help: "look at this bus only, for example /dev/i2c-1"),
            CommandUsage.Option(name: "address", value: "ADDRESS", help: "look at this address only, for example 0x68"),
            CommandUsage.Option(
                name: "self-test", help: "let the chip test itself, and judge it by the factory's figures"),
            CommandUsage.Option(name: "json", help: "print JSON"),
        ])

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let address = try arguments.value("address").map(ScanCommand.address)
        let scan = SensorScan(bus: arguments.value("bus"), address: address)
        let test = arguments.has("self-test") ? scan.choice.map { SelfTestResult(testing: $0) } : nil
        if arguments.has("json") {
            var object = json(scan)
            if let test { object.add("self_test", test.json) }
            print(object.description)
        } else {
            printTable(scan)
            if let table = test?.table { print("\n\(table)", terminator: "") }
        }
        if let test { return try test.check() }
        guard scan.choice == nil else { return }
        let failure = CommandFailure(SensorError.notFound(scan))
        throw CommandFailure(failure.status, failure.message)
    }

    private static func address(_ text: String) throws(CommandFailure) -> UInt8 {
        let value = text.lowercased().hasPrefix("0x") ? UInt8(text.dropFirst(2), radix: 16) : UInt8(text)
        guard let value, (0x08...0x77).contains(value) else {
            throw CommandFailure(.usage, "--address is \"\(text)\", not an I2C address from 0x08 to 0x77")
        }
        return value
    }

    private static func printTable(_ scan: SensorScan) {
        for bus in scan.buses {
            let clock = bus.clockFrequency.map { ", \($0 / 1000) kHz" } ?? ""
            print("\(bus.path)\(bus.name.map { "  (\($0)\(clock))" } ?? "")")
            if let failure = bus.failure { print("  cannot be opened: \(failure)") }
            for chip in bus.chips {
                let isChoice = scan.choice == SensorScan.Place(bus: bus.path, address: chip.address)
                print(
                    "  \(hexadecimal(chip.address))  \(words(for: chip.finding))\(isChoice ? "   <- auto takes this" : "")"
                )
            }
        }
    }

    private static func words(for finding: SensorScan.Finding) -> String {
        switch finding {
        case .silent: "-"
        case .chip(let identity): "\(identity.explanation) (WHO_AM_I \(hexadecimal(identity.identity)))"
        case .taken(let error): "\(error)"
        case .failed(let error): error.explanation
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
                entry.add("error", bus.failure.map { "\($0)" })
                entry.add("chips", bus.chips.map(ScanCommand.json))
                return entry
            })
        if let choice = scan.choice {
            var entry = JSONObject()
            entry.add("bus", choice.bus)
            entry.add("address", hexadecimal(choice.address))
            object.add("choice", entry)
        }
        return object
    }

    private static func json(_ chip: SensorScan.ChipReport) -> JSONObject {
        var entry = JSONObject()
        entry.add("address", hexadecimal(chip.address))
        switch chip.finding {
        case .silent: entry.add("found", false)
        case .chip(let identity):
            entry.add("found", true)
            entry.add("identity", hexadecimal(identity.identity))
            entry.add("name", identity.name.map { "\($0)" })
            entry.add("supported", identity.isSupported)
        case .taken, .failed: entry.add("error", words(for: chip.finding))
        }
        return entry
    }
}
