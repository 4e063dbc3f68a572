internal import JostleConfiguration
internal import JostleMessages

/// A share of the devices that gets the candidates, and the devices that it selects at present.
package struct RolloutStep: Equatable, Sendable {
    /// The share, 0 … 100 %.
    package let percent: Double
    /// The devices that are online and selected, in the order of their places.
    package let online: [String]
    /// Those of them that the step adds.
    package let added: [String]
    /// The selected devices that are offline. They take part when they return, and do not count.
    package let offline: [String]

    /// The share of a step with the devices of `readers`, which are in the order of their places; `reached` is the share
    /// before.
    package init(percent: Double, reached: Double, _ readers: [RolloutReader]) {
        self.percent = percent
        let selected = readers.filter { $0.place < percent / 100 }
        online = selected.filter(\.isOnline).map(\.id)
        added = selected.filter { $0.isOnline && $0.place >= reached / 100 }.map(\.id)
        offline = selected.filter { !$0.isOnline }.map(\.id)
    }

    /// The next step after `reached`, with the next of the growing shares `percents`. It adds a device that is online: if
    /// its share has none, it is raised to the next one of `readers`, which are in the order of their places.
    ///
    /// - Returns: `nil` if all devices that are online have the change.
    package static func next(percents: [Double], after reached: Double, _ readers: [RolloutReader]) -> RolloutStep? {
        guard let percent = percents.first(where: { $0 > reached }),
            let next = readers.first(where: { $0.isOnline && $0.place >= reached / 100 })
        else { return nil }
        return RolloutStep(percent: max(percent, share(above: next.place)), reached: reached, readers)
    }

    /// The steps that are still to be taken. A rollout that has begun first watches the share that it has reached.
    package static func plan(percents: [Double], for plan: RolloutPlan, _ readers: [RolloutReader]) -> [RolloutStep] {
        var steps = plan.reached > 0 ? [RolloutStep(percent: plan.reached, reached: 0, readers)] : []
        while let step = next(percents: percents, after: steps.last?.percent ?? 0, readers) { steps.append(step) }
        return steps
    }

    /// The smallest percentage with four decimals that selects the device at a place.
    static func share(above place: Double) -> Double {
        var tenThousandths = (place * 1e6).rounded(.up)
        // Rounding may end at the place itself, which is not selected yet.
        while tenThousandths / 1e4 / 100 <= place { tenThousandths += 1 }
        return min(100, tenThousandths / 1e4)
    }
}

/// The shares of a rollout.
package enum RolloutPercents {
    /// The shares after the canary, unless others are given.
    package static let usual = [25.0, 100]

    /// The growing shares of a rollout: the canary, the steps, and always 100 % at the end.
    ///
    /// - Throws: `badPercentages` if they do not grow.
    package static func all(canary: Double?, steps: [Double]?) throws(RolloutError) -> [Double] {
        let first = canary.map { [$0] } ?? []
        let rest = steps ?? usual.filter { $0 > canary ?? 0 }
        let percents = first + rest
        for (one, next) in zip(percents, percents.dropFirst()) where next <= one {
            throw .badPercentages("the shares must grow: \(percents.map(text).joined(separator: ", "))")
        }
        return percents.last == 100 ? percents : percents + [100]
    }

    /// The share in a text: `5%`, `5 %` or `5`.
    ///
    /// - Throws: `badPercentages` if it is none above 0 and up to 100.
    package static func read(_ text: String) throws(RolloutError) -> Double {
        let number = text.hasSuffix("%") ? text.dropLast() : text[...]
        guard let percent = Double(number.filter { $0 != " " }), percent > 0, percent <= 100 else {
            throw .badPercentages("\"\(text)\" is no share such as 5%; allowed: above 0 %, up to 100 %")
        }
        return percent
    }

    /// `5 %`.
    package static func text(_ percent: Double) -> String { "\(JSONValue.number(percent).compactText) %" }
}
