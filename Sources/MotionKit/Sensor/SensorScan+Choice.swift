package import IMUDrivers

extension SensorScan {
    /// The chosen chip, and why it was chosen.
    package struct Choice: Equatable, Sendable {
        package let place: Place

        /// The family of its driver.
        package let family: IMUFamily

        /// The part's name as its manufacturer writes it.
        package let name: String

        /// The content of its identity register.
        package let identity: UInt8

        /// Whether the user's settings, and not the chip's identity, say that it is this part.
        package let isAssumed: Bool

        /// Why it was chosen, in words that can follow a colon.
        package let reason: String
    }
}

extension SensorScan.Choice {
    /// A chip that can be chosen.
    private struct Candidate {
        var place: SensorScan.Place
        var chip: RegisteredChip
        /// The place of its family in the order of preference.
        var rank: Int
        var name: StaticString
        var identity: UInt8
        var isAssumed: Bool
    }

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
                candidates.append(
                    Candidate(
                        place: SensorScan.Place(bus: bus.path, address: report.address), chip: chips[rank], rank: rank,
                        name: name, identity: identity.identity, isAssumed: !identity.isSupported))
            }
        }
        // `min` returns the first of equals, so the order of buses and addresses decides.
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
                "; no driver knows its identity \(hexadecimal(best.identity)), it is treated as a \(best.name) as configured"
        }
        return reason
    }
}
