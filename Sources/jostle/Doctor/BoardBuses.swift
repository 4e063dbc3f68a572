internal import Glibc
internal import JostleAgent
internal import LinuxSensors
internal import LinuxSystem

/// The I2C buses of this board: those that the kernel drives, and those that programs can open.
struct BoardBuses: Equatable {
    /// The buses with a device file.
    var buses: [I2CBus]

    /// The names of the kernel's adapters: `i2c-1`.
    var adapters: [String]

    /// The board's model, if the firmware tells it.
    var model: String?

    static func ofThisMachine() -> BoardBuses {
        var adapters: [String] = []
        do throws(SystemFailure) {
            adapters = try DirectoryContents.names("/sys/bus/i2c/devices").filter { $0.hasPrefix("i2c-") }
        } catch {
            // A kernel without I2C has no such directory.
        }
        return BoardBuses(buses: I2CBus.all(), adapters: adapters, model: BoardFacts.ofThisMachine().model)
    }

    /// Whether there is a device file.
    func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private var isRaspberryPi: Bool { model?.hasPrefix("Raspberry Pi") ?? false }

    /// Whether I2C is on, and whether the wanted bus exists.
    func findings(wanted: String?) -> [Finding] {
        if let wanted {
            if exists(wanted) { return [.ok(.bus, Self.description(of: I2CBus(path: wanted), path: wanted))] }
            let others = buses.map(\.path).joined(separator: ", ")
            guard !buses.isEmpty else {
                return [.failed(.bus, "sensor.bus is \(wanted), and there is no I2C bus at all", enabling)]
            }
            return [
                .failed(
                    .bus, "sensor.bus is \(wanted), which is not there; there are \(others)",
                    ["Correct sensor.bus in the configuration, or remove it: then all buses are searched"],
                    status: .configuration)
            ]
        }
        guard buses.isEmpty else {
            let names = buses.map { Self.description(of: $0, path: $0.path) }
            return [.ok(.bus, names.joined(separator: ", "))]
        }
        return [.failed(.bus, "there is no I2C bus that a program can open: \(reason)", enabling)]
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
