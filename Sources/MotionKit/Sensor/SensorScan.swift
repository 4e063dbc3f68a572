public import IMUDrivers
public import LinuxSensors

/// A look at the I2C buses for chips that there is a driver for. Nothing is written to any chip.
public struct SensorScan: Sendable {
    /// The addresses that an MPU-6050 can have: AD0 low and high (PS-MPU-6000A-00 r3.4, 9.2).
    public static let addresses: [UInt8] = [0x68, 0x69]

    /// What a bus turned out to be.
    public struct BusReport: Sendable {
        /// The bus, as the system lists it.
        public var path: String
        public var name: String?
        /// The bus clock that the device tree asks for, Hz.
        public var clockFrequency: Int?
        /// Why it could not be opened.
        public var failure: LinuxSensorsError?
        public var chips: [ChipReport] = []
    }

    /// What was found at an address.
    public struct ChipReport: Sendable {
        public var address: UInt8
        public var finding: Finding
    }

    /// What an address turned out to hold.
    public enum Finding: Sendable {
        /// A chip with this identity.
        case chip(IMUIdentity)
        /// Nobody answers.
        case silent
        /// A kernel driver or another process has it.
        case taken(LinuxSensorsError)
        /// The bus failed.
        case failed(BusError)
    }

    /// The place of a chip.
    public struct Place: Equatable, Sendable {
        public var bus: String
        public var address: UInt8

        /// The chip at `address` on `bus`.
        public init(bus: String, address: UInt8) {
            self.bus = bus
            self.address = address
        }
    }

    /// The buses, in the order of their numbers.
    public let buses: [BusReport]

    /// The chip that `auto` takes: the first one with a driver.
    public let choice: Place?

    /// Looks at one bus or all, at one address or all that a known chip can have.
    public init(bus: String? = nil, address: UInt8? = nil) {
        let paths = bus.map { [$0] } ?? I2CBus.all().map(\.path)
        let addresses = address.map { [$0] } ?? SensorScan.addresses
        buses = paths.map { SensorScan.look(at: $0, addresses: addresses) }
        var choice: Place?
        for bus in buses where choice == nil {
            for chip in bus.chips where choice == nil {
                if case .chip(let identity) = chip.finding, identity.isSupported {
                    choice = Place(bus: bus.path, address: chip.address)
                }
            }
        }
        self.choice = choice
    }

    private static func look(at path: String, addresses: [UInt8]) -> BusReport {
        let listed = I2CBus.all().first { $0.path == path }
        var report = BusReport(path: path, name: listed?.name, clockFrequency: listed?.clockFrequency)
        for address in addresses {
            do throws(LinuxSensorsError) {
                var device = try I2CDevice(path: path, address: address)
                report.chips.append(ChipReport(address: address, finding: identify(&device)))
            } catch {
                switch error.reason {
                case .kernelDriver, .inUse, .invalidAddress, .cannotLock:
                    report.chips.append(ChipReport(address: address, finding: .taken(error)))
                case .cannotOpen, .notAnAdapter, .insufficientAdapter:
                    report.failure = error
                    return report
                }
            }
        }
        return report
    }

    private static func identify(_ device: inout I2CDevice) -> Finding {
        do throws(BusError) {
            return .chip(try IMUIdentity.probe(&device))
        } catch {
            return error.kind == .notAcknowledged ? .silent : .failed(error)
        }
    }
}
