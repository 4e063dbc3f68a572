package import IMUDrivers
package import LinuxSensors

/// A look at the I2C buses for chips that there is a driver for. Nothing is written to any chip.
public struct SensorScan: Sendable {
    /// The families of chips that there are drivers for, in the order in which `auto` prefers them.
    package static let families: [IMUFamily] = ChipRegistry.all.map(\.family)

    /// The addresses that a chip with a driver can have.
    package static let addresses: [UInt8] = Array(Set(ChipRegistry.all.flatMap(\.addresses))).sorted()

    /// What a bus turned out to be.
    package struct BusReport: Sendable {
        /// The bus, as the system lists it.
        package var path: String
        package var name: String?
        /// The bus clock that the device tree asks for, Hz.
        package var clockFrequency: Int?
        /// Why it could not be opened.
        package var failure: LinuxSensorsError?
        package var chips: [ChipReport] = []
    }

    /// What was found at an address.
    package struct ChipReport: Sendable {
        package var address: UInt8
        package var finding: Finding
    }

    /// What an address turned out to hold.
    package enum Finding: Sendable {
        /// A chip with this identity.
        case chip(IMUIdentity)
        /// Nobody answers.
        case silent
        /// A kernel driver or another process has it.
        case taken(LinuxSensorsError)
        /// The bus failed.
        case failed(BusError)
        /// No chip with a driver has this address: whatever is there was left alone.
        case untouched
    }

    /// The place of a chip.
    package struct Place: Equatable, Sendable {
        package var bus: String
        package var address: UInt8

        /// The chip at `address` on `bus`.
        package init(bus: String, address: UInt8) {
            self.bus = bus
            self.address = address
        }
    }

    /// The buses, in the order of their numbers.
    package let buses: [BusReport]

    /// The chip that is taken; `nil` where there is none.
    package let choice: Choice?

    /// The kernel drivers' devices (IIO), in the order of their numbers.
    package let kernelDevices: [IIODevice]

    /// The kernel's device that is taken where no chip is; `nil` where there is none, or where a family was named.
    package let kernelChoice: KernelSensorChoice?

    /// Looks at one bus or all, at one address or all that a chip with a driver can have.
    ///
    /// - Parameters:
    ///   - bus: the path of a bus, or `nil` for all.
    ///   - address: an address, or `nil` for all that are usual.
    ///   - family: takes only a chip of this family.
    ///   - assumedIdentity: takes a chip of which no driver knows the number for the one of `family` that has this.
    package init(
        bus: String? = nil, address: UInt8? = nil, family: IMUFamily? = nil, assumedIdentity: UInt8? = nil
    ) {
        let chips = ChipRegistry.all
        let paths = bus.map { [$0] } ?? I2CBus.all().map(\.path)
        let usual = chips.first { $0.family == family }?.addresses ?? SensorScan.addresses
        let addresses = address.map { [$0] } ?? usual
        self.init(
            paths.map { SensorScan.look(at: $0, addresses: addresses, family: family) }, chips: chips, family: family,
            assumedIdentity: assumedIdentity, kernelDevices: IIODevice.all(), bus: bus, address: address)
    }

    /// Chooses among what was found.
    init(
        _ buses: [BusReport], chips: [RegisteredChip], family: IMUFamily? = nil, assumedIdentity: UInt8? = nil,
        kernelDevices: [IIODevice] = [], bus: String? = nil, address: UInt8? = nil
    ) {
        self.buses = buses
        self.kernelDevices = kernelDevices
        kernelChoice =
            family == nil ? SensorScan.kernelChoice(among: kernelDevices, named: nil, bus: bus, address: address) : nil
        choice = Choice(among: buses, chips: chips, family: family, assumedIdentity: assumedIdentity)
    }

    /// The kernel's device that is preferred; of the chip on the I2C bus of this path and at this address, where they are
    /// given.
    static func kernelChoice(
        among devices: [IIODevice], named name: String?, bus: String?, address: UInt8?
    ) -> KernelSensorChoice? {
        var number: Int?
        if let bus {
            // A path that leads to no numbered bus is that of none with a kernel driver.
            guard let known = I2CBus(path: bus) else { return nil }
            number = known.number
        }
        return KernelSensorChoice(among: devices, named: name, bus: number, address: address)
    }

    private static func look(at path: String, addresses: [UInt8], family: IMUFamily?) -> BusReport {
        let listed = I2CBus.all().first { $0.path == path }
        var report = BusReport(path: path, name: listed?.name, clockFrequency: listed?.clockFrequency)
        for address in addresses {
            let candidates = ChipRegistry.candidates(at: address, named: family, of: ChipRegistry.all)
            guard !candidates.isEmpty else {
                report.chips.append(ChipReport(address: address, finding: .untouched))
                continue
            }
            do throws(LinuxSensorsError) {
                var device = try I2CDevice(path: path, address: address)
                report.chips.append(ChipReport(address: address, finding: identify(&device, among: candidates)))
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

    private static func identify(_ device: inout I2CDevice, among candidates: [RegisteredChip]) -> Finding {
        do throws(BusError) {
            return try ChipRegistry.identify(&device, among: candidates).map { .chip($0) } ?? .untouched
        } catch {
            return error.kind == .notAcknowledged ? .silent : .failed(error)
        }
    }
}
