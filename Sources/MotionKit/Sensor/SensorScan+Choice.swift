package import IMUDrivers

extension SensorScan {
    /// The chip that is taken, and why.
    package struct Choice: Equatable, Sendable {
        package let place: Place

        /// The family whose driver drives it.
        package let family: IMUFamily

        /// The part's name as its maker writes it.
        package let name: String

        /// What its identity register holds.
        package let identity: UInt8

        /// Whether it is taken for that part because the user says so, not because of its number.
        package let isAssumed: Bool

        /// Why it is taken, in words that can follow a colon.
        package let reason: String
    }
}

extension SensorScan.Choice {
    /// A chip that may be taken.
    private struct Candidate {
        var place: SensorScan.Place
        var chip: RegisteredChip
        /// Of its family in the order of preference.
        var rank: Int
        var name: StaticString
        var identity: UInt8
        var isAssumed: Bool
    }

    /// Prefers families as the registry has them, chips that are known to those that the user vouches for, and then what
    /// comes first by bus and address.
    init?(
        among buses: [SensorScan.BusReport], chips: [RegisteredChip], family: IMUFamily?, assumedIdentity: UInt8?
    ) {
        var candidates: [Candidate] = []
        for bus in buses {
            for report in bus.chips {
                guard case .chip(let identity) = report.finding,
                    let rank = chips.firstIndex(where: { $0.family == identity.family ?? family }),
                    family == nil || chips[rank].family == family
                else { continue }
                // Another driver's chip is never assumed to be something else.
                let assumed = identity.isSupported ? nil : assumedIdentity.flatMap(chips[rank].name)
                guard let name = identity.isSupported ? identity.name : assumed else { continue }
                candidates.append(
                    Candidate(
                        place: SensorScan.Place(bus: bus.path, address: report.address), chip: chips[rank], rank: rank,
                        name: name, identity: identity.identity, isAssumed: !identity.isSupported))
            }
        }
        // The first of the best: `min` keeps the order of buses and addresses.
        let best = candidates.min { ($0.rank, $0.isAssumed ? 1 : 0) < ($1.rank, $1.isAssumed ? 1 : 0) }
        guard let best else { return nil }
        place = best.place
        self.family = best.chip.family
        name = "\(best.name)"
        identity = best.identity
        isAssumed = best.isAssumed
        reason = Self.reason(for: best, among: candidates, family: family)
    }

    private static func reason(for best: Candidate, among candidates: [Candidate], family: IMUFamily?) -> String {
        let kind = family.map { "chip of the family \($0.name)" } ?? "chip with a driver"
        let others = candidates.filter { $0.place != best.place }
        var reason =
            if others.isEmpty {
                "the only \(kind)"
            } else if others.allSatisfy({ $0.rank > best.rank }) {
                "of \(candidates.count) chips the one whose family, \(best.chip.family.name), is preferred"
            } else {
                "of \(candidates.count) chips the first by bus and address in the family \(best.chip.family.name)"
            }
        if best.isAssumed {
            reason +=
                "; no driver knows its number \(hexadecimal(best.identity)), it is taken for a \(best.name) as it was said"
        }
        return reason
    }
}
