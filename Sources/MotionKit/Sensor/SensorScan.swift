package import IMUDrivers
package import LinuxSensors

/// A search of the I2C buses for supported chips. It reads and never writes registers.
public struct SensorScan: Sendable {
    /// The chip families with a driver, in the order in which `auto` prefers them.
    package static let families: [IMUFamily] = ChipRegistry.all.map(\.family)

    /// The possible addresses of supported chips.
    package static let addresses: [UInt8] = Array(Set(ChipRegistry.all.flatMap(\.addresses))).sorted()

    /// The result for a bus.
    package struct BusReport: Sendable {
        /// The bus's path and name in the system.
        package var path: String
        package var name: String?
        /// The bus clock in the device tree, Hz.
        package var clockFrequency: Int?
        /// Why the bus could not be opened.
        package var failure: LinuxSensorsError?
        /// Why chips were identified, but cannot be used on this bus.
        package var limitation: LinuxSensorsError?
        package var chips: [ChipReport] = []
    }

    /// What was found at an address.
    package struct ChipReport: Sendable {
        package var address: UInt8
        package var finding: Finding

        /// Whether a chip with a driver answered.
        package var isSupported: Bool {
            if case .chip(let identity) = finding { identity.isSupported } else { false }
        }
    }

    /// The result for an address.
    package enum Finding: Sendable {
        /// A chip with this identity.
        case chip(IMUIdentity)
        /// No chip answers.
        case silent
        /// A kernel driver or another process uses the chip.
        case taken(LinuxSensorsError)
        /// The bus failed.
        case failed(BusError)
        /// No supported chip has this address, so nothing was read.
        case untouched
    }

    /// The bus of a chip, and its address there.
    package struct ChipAddress: Equatable, Sendable {
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

    /// The chosen chip; `nil` if there is none.
    package let choice: Choice?

    /// The kernel drivers' devices (IIO), in the order of their numbers.
    package let kernelDevices: [IIODevice]

    /// The kernel device to use if there is no `choice`; `nil` if there is none or a family was named.
    package let kernelChoice: KernelSensorChoice?

    /// Searches one bus or all, and one address or all possible ones.
    ///
    /// - Parameters:
    ///   - bus: the path of a bus, or `nil` for all.
    ///   - address: an address, or `nil` for all possible addresses of supported chips.
    ///   - family: chooses only a chip of this family.
    ///   - assumedIdentity: treats a chip with an unknown identity as the part of `family` that has this identity.
    package init(
        bus: String? = nil, address: UInt8? = nil, family: IMUFamily? = nil, assumedIdentity: UInt8? = nil
    ) {
        let chips = ChipRegistry.all
        let paths = bus.map { [$0] } ?? I2CBus.all().map(\.path)
        let usual = chips.first { $0.family == family }?.addresses ?? SensorScan.addresses
        let addresses = address.map { [$0] } ?? usual
        self.init(
            paths.map { SensorScan.search($0, addresses: addresses, family: family) }, chips: chips, family: family,
            assumedIdentity: assumedIdentity, kernelDevices: IIODevice.all(), bus: bus, address: address)
    }

    /// Chooses among the results of a search.
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

    /// The preferred kernel device. If a bus path or an address is given, it must be the device of that chip.
    package static func kernelChoice(
        among devices: [IIODevice], named name: String?, bus: String?, address: UInt8?
    ) -> KernelSensorChoice? {
        var number: Int?
        if let bus {
            // Chips with a kernel driver are on numbered buses.
            guard let known = I2CBus(path: bus) else { return nil }
            number = known.number
        }
        return KernelSensorChoice(among: devices, named: name, bus: number, address: address)
    }

    /// Whether nothing answered at an address.
    func isFree(_ address: UInt8, on bus: String) -> Bool {
        let chips = buses.first { $0.path == bus }?.chips ?? []
        return chips.contains { chip in
            if case .silent = chip.finding { chip.address == address } else { false }
        }
    }

    private static func search(_ path: String, addresses: [UInt8], family: IMUFamily?) -> BusReport {
        let listed = I2CBus.all().first { $0.path == path }
        var report = BusReport(path: path, name: listed?.name, clockFrequency: listed?.clockFrequency)
        for address in addresses {
            let candidates = ChipRegistry.candidates(at: address, named: family, of: ChipRegistry.all)
            guard !candidates.isEmpty else {
                report.chips.append(ChipReport(address: address, finding: .untouched))
                continue
            }
            do {
                var device = try I2CDevice(path: path, address: address)
                report.limitation = device.limitation
                report.chips.append(
                    ChipReport(address: address, finding: identify(&device, on: path, among: candidates)))
            } catch {
                switch error.reason {
                case .kernelDriver, .inUse, .invalidAddress, .cannotLock:
                    report.chips.append(ChipReport(address: address, finding: .taken(error)))
                case .cannotOpen, .notAnAdapter, .insufficientAdapter, .singleBytes:
                    report.failure = error
                    return report
                }
            }
        }
        return report
    }

    private static func identify(
        _ device: inout I2CDevice, on path: String, among candidates: [RegisteredChip]
    ) -> Finding {
        do {
            return try ChipRegistry.identify(&device, among: candidates).map { .chip($0) } ?? .untouched
        } catch {
            return finding(of: error, isBusListed: I2CBus.all().contains { $0.path == path })
        }
    }

    /// The result for an address at which the identity could not be read.
    ///
    /// The kernel's i2c-stub says of an address without a chip that there is no such device, as an adapter that is gone
    /// says of every address.
    static func finding(of error: BusError, isBusListed: Bool) -> Finding {
        error.kind == .notAcknowledged || error.kind == .absent && isBusListed ? .silent : .failed(error)
    }
}

extension SensorScan {
    /// The chosen chip, and why it was chosen.
    package struct Choice: Equatable, Sendable {
        package let place: ChipAddress

        /// The family of its driver.
        package let family: IMUFamily

        /// The part's name as its manufacturer writes it.
        package let name: String

        /// The content of its identity register.
        package let identity: UInt8

        /// Whether the user's settings, and not the chip's identity, say that it is this part.
        package let isAssumed: Bool

        /// Why it was chosen, in words that can follow a colon.
        package private(set) var reason = ""
    }
}

extension SensorScan.Choice {
    /// A chip that can be chosen, and the place of its family in the order of preference.
    private typealias Candidate = (rank: Int, choice: SensorScan.Choice)

    /// Prefers families in the order of the registry, then known chips to those with an assumed identity, and then the first
    /// by bus and address.
    init?(
        among buses: [SensorScan.BusReport], chips: [RegisteredChip], family: IMUFamily?, assumedIdentity: UInt8?
    ) {
        var candidates: [Candidate] = []
        for bus in buses where bus.limitation == nil {
            for report in bus.chips {
                guard case .chip(let identity) = report.finding,
                    let rank = chips.firstIndex(where: { $0.family == identity.family ?? family }),
                    family == nil || chips[rank].family == family
                else { continue }
                // A chip that a driver knows is never assumed to be another one.
                let isKnown = identity.isSupported || identity.stranger != nil
                let assumed = isKnown ? nil : assumedIdentity.flatMap(chips[rank].name)
                guard let name = identity.isSupported ? identity.name : assumed else { continue }
                let choice = SensorScan.Choice(
                    place: SensorScan.ChipAddress(bus: bus.path, address: report.address), family: chips[rank].family,
                    name: "\(name)", identity: identity.identity, isAssumed: !identity.isSupported)
                candidates.append((rank, choice))
            }
        }
        // `min` returns the first of equals, so the order of buses and addresses decides.
        let best = candidates.min { ($0.rank, $0.choice.isAssumed ? 1 : 0) < ($1.rank, $1.choice.isAssumed ? 1 : 0) }
        guard let best else { return nil }
        self = best.choice
        reason = Self.reason(for: best, among: candidates, family: family)
    }

    private static func reason(for best: Candidate, among candidates: [Candidate], family: IMUFamily?) -> String {
        let chosen = best.choice
        let kind = family.map { "chip of the family \($0.name)" } ?? "chip with a driver"
        let others = candidates.filter { $0.choice.place != chosen.place }
        var reason =
            if others.isEmpty {
                "the only \(kind)"
            } else if others.allSatisfy({ $0.rank > best.rank }) {
                "of \(candidates.count) chips the one whose family, \(chosen.family.name), is preferred"
            } else {
                "of \(candidates.count) chips the first by bus and address in the family \(chosen.family.name)"
            }
        if chosen.isAssumed {
            reason +=
                "; no driver knows its identity \(hexadecimal(chosen.identity)), it is treated as a \(chosen.name) as configured"
        }
        return reason
    }
}
