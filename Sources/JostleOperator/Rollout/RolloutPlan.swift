internal import Cryptography
package import Documents
package import JostleMessages
package import LinuxSystem

/// A change of layers that reaches the devices step by step, as candidates with a growing percentage.
///
/// Everything that is needed to go on with it is in the documents at the broker. All layers have the same seed, so a
/// device gets the candidates of all its layers in the same step.
package struct RolloutPlan: Equatable, Sendable {
    /// A layer that changes.
    package struct Layer: Equatable, Sendable {
        package let document: FleetDocumentID
        /// The configuration before, which stays in force if the change is withdrawn.
        package let base: JSONValue
        /// The configuration after the change.
        package let candidate: JSONValue
        /// Whether devices leave out keys that they do not know, which a rollout does not change.
        package let ignoresUnknownKeys: Bool
    }

    /// The layers that change, lowest first.
    package let layers: [Layer]

    /// Decides which devices a percentage selects.
    package let seed: String

    /// The percentage that the candidates already have; 0 for a new rollout.
    package let reached: Double

    /// Plans a change, or goes on with it if the broker holds candidates of it.
    ///
    /// - Throws: if a layer cannot be changed in this way, or is part of another rollout.
    ///
    /// With `marksBase`, a new seed also gets a mark of the configurations before the change: see `isBaseChanged`.
    package init(
        _ changes: [(FleetDocumentID, DocumentDraft)], in model: FleetModel, newSeed: String, marksBase: Bool = false
    ) throws {
        var layers: [Layer] = []
        var running: [(document: FleetDocumentID, candidate: LayerDocument.Candidate)] = []
        for (document, draft) in changes.sorted(by: { $0.0 < $1.0 }) {
            if case .registry = document { throw RolloutError.groupsChange(document) }
            let stored = model.documents[document]
            if let stored, stored.layer == nil { throw RolloutError.unreadable(document) }
            let config = draft.config ?? .object([])
            let layer = stored?.layer
            if let candidate = stored?.rollout {
                guard LayerEdit.isEqual(candidate.config, config) else {
                    throw RolloutError.otherRollout(document, percent: candidate.percent, by: layer?.envelope.by)
                }
                running.append((document, candidate))
            }
            guard draft.ignoresUnknownKeys == layer?.ignoresUnknownKeys ?? false else {
                throw RolloutError.unknownKeysChange(document)
            }
            layers.append(
                Layer(
                    document: document, base: layer?.config ?? .object([]),
                    candidate: config, ignoresUnknownKeys: draft.ignoresUnknownKeys))
        }
        self.layers = layers
        if let first = running.first, let other = running.first(where: { $0.candidate.seed != first.candidate.seed }) {
            throw RolloutError.differentSeeds(first.document, other.document)
        }
        let present = RolloutPlan.seeds(in: model)
        guard let seed = running.first?.candidate.seed else {
            guard !present.contains(newSeed) else { throw RolloutError.seedInUse(newSeed) }
            self.seed = marksBase ? "\(newSeed)-\(RolloutPlan.mark(of: layers))" : newSeed
            reached = 0
            return
        }
        self.seed = seed
        reached = running.map(\.candidate.percent).max() ?? 0
        // A layer that joined would skip the canary; one that was left out would keep its candidate.
        let all = Set(model.documents.filter { $0.value.rollout?.seed == seed }.keys)
        let targeted = Set(layers.map(\.document))
        let joining = targeted.subtracting(running.map(\.document))
        if let document = all.subtracting(targeted).min() { throw RolloutError.otherLayers(seed, document) }
        if let document = joining.min(), !isMarked || isBaseChanged { throw RolloutError.otherLayers(seed, document) }
    }

    /// Goes on with a rollout that the broker holds: all layers whose candidates have this seed.
    package init?(runningIn model: FleetModel, seed: String) {
        layers = model.documents.compactMap { id, stored in
            guard let layer = stored.layer, let candidate = stored.rollout, candidate.seed == seed else { return nil }
            return Layer(
                document: id, base: layer.config, candidate: candidate.config,
                ignoresUnknownKeys: layer.ignoresUnknownKeys)
        }.sorted { $0.document < $1.document }
        guard !layers.isEmpty else { return nil }
        self.seed = seed
        reached = layers.compactMap { model.documents[$0.document]?.rollout?.percent }.max() ?? 0
    }

    /// Whether the layers are others than at the beginning, or their configurations: somebody has changed them since, or
    /// not all of them were published. Going on would undo that. Not known, and false, for a seed that somebody chose.
    package var isBaseChanged: Bool { isMarked && !seed.hasSuffix("-\(RolloutPlan.mark(of: layers))") }

    /// The form of a seed with a mark, such as `2026-11-22T10:00-a1b2c3-0f3a41d2`: `0` stands for a digit, `x` for a
    /// hexadecimal one.
    private static let markedSeed = "0000-00-00T00:00-xxxxxx-xxxxxxxx"

    private var isMarked: Bool {
        seed.count == RolloutPlan.markedSeed.count
            && zip(seed, RolloutPlan.markedSeed).allSatisfy { letter, form in
                switch form {
                case "0": "0123456789".contains(letter)
                case "x": "0123456789abcdef".contains(letter)
                default: letter == form
                }
            }
    }

    /// The first eight hexadecimal digits of a hash of the layers before the change.
    private static func mark(of layers: [Layer]) -> String {
        var text = ""
        for layer in layers {
            text += "\(layer.document.text) \(layer.base.text(.canonical))\n"
        }
        return String(SHA256Digest(of: text.utf8).hexadecimal.prefix(8))
    }

    /// The seeds of the rollouts that the broker holds.
    package static func seeds(in model: FleetModel) -> [String] {
        Set(model.documents.values.compactMap(\.rollout?.seed)).sorted()
    }

    // MARK: Devices

    /// The devices that read one of the layers, in the order in which a growing percentage reaches them.
    ///
    /// With `countsChanged`, devices that have the candidates count as online even if they are not: the change may be why.
    package func readers(in model: FleetModel, countsChanged: Bool = false) -> [RolloutReader] {
        let documents = Set(layers.map(\.document))
        func isChanged(_ board: FleetBoard) -> Bool {
            documents.contains { id in
                guard let status = board.status(of: id), status.isCandidate else { return false }
                return status.revision == model.documents[id]?.number
            }
        }
        return model.allBoards.filter { !documents.isDisjoint(with: model.documents(of: $0.id)) }
            .map { board in
                RolloutReader(
                    id: board.id, place: LayerDocument.Candidate.place(of: board.id, seed: seed),
                    isOnline: board.isOnline == true || countsChanged && isChanged(board))
            }
            .sorted { ($0.place, $0.id) < ($1.place, $1.id) }
    }

    // MARK: Documents

    /// How far a rollout is.
    package enum Stage: Equatable, Sendable {
        /// Devices up to a percentage have the candidates.
        case candidate(percent: Double)
        /// The candidates are the layers' configuration, for devices that come later too.
        case complete
        /// The configuration before is in force everywhere.
        case withdrawn
    }

    /// The documents of a stage.
    package func drafts(_ stage: Stage) -> [FleetDocumentID: DocumentDraft] {
        var drafts: [FleetDocumentID: DocumentDraft] = [:]
        for layer in layers {
            let candidate: JSONValue?
            let config: JSONValue
            switch stage {
            case .candidate(let percent):
                config = layer.base
                candidate = ["config": layer.candidate, "percent": .number(percent), "seed": .string(seed)]
            case .complete: (config, candidate) = (layer.candidate, nil)
            case .withdrawn: (config, candidate) = (layer.base, nil)
            }
            drafts[layer.document] = DocumentDraft(
                config: config, candidate: candidate, ignoresUnknownKeys: layer.ignoresUnknownKeys)
        }
        return drafts
    }
}

/// A device that a rollout concerns.
package struct RolloutReader: Equatable, Sendable {
    package var id: String
    /// Its place in the order in which a growing percentage reaches devices, [0, 1).
    package var place: Double
    package var isOnline: Bool
}

/// Why a change cannot be rolled out.
package enum RolloutError: Error, Equatable, Sendable {
    /// The groups of a device have no candidates.
    case groupsChange(FleetDocumentID)
    /// The broker holds something that is no layer.
    case unreadable(FleetDocumentID)
    /// The layer has a candidate of another change.
    case otherRollout(FleetDocumentID, percent: Double, by: String?)
    /// The rollout that is under way has other layers: this one only here, or only there.
    case otherLayers(String, FleetDocumentID)
    /// Another rollout has this seed.
    case seedInUse(String)
    /// What devices do with unknown keys would change with the layer.
    case unknownKeysChange(FleetDocumentID)
    /// Two layers have the candidates of this change in different rollouts.
    case differentSeeds(FleetDocumentID, FleetDocumentID)
    /// No device that reads the layers is online.
    case noDevice
    case badPercentages(String)
}

extension RolloutError: FailureConvertible, CustomStringConvertible {
    package var failure: Failure { Failure(self == .noDevice ? .temporary : .badData, description) }

    package var description: String {
        switch self {
        case .groupsChange(let id):
            "\(id.text): groups cannot be changed step by step; apply registry.yaml alone first, with --document registry"
        case .unreadable(let id):
            "\(id.text): the broker holds something that is no layer, or that no trusted key has signed; replace it with jostle fleet apply, without --canary"
        case .otherRollout(let id, let percent, let by):
            "\(id.text): another change\(by.map { " by \($0)" } ?? "") is being rolled out, at \(RolloutPercents.text(percent))"
        case .otherLayers(let seed, let id):
            "the rollout \(seed) of this change is under way, but it and these files do not both change \(id.text); finish it with jostle fleet rollout resume, or take it back with jostle fleet rollout withdraw, first"
        case .seedInUse(let seed): "the rollout \(seed) is under way; two rollouts cannot have the same seed"
        case .unknownKeysChange(let id):
            "\(id.text): --unknown cannot change step by step; change it before, without --canary"
        case .differentSeeds(let one, let other):
            "\(one.text) and \(other.text) are parts of two different rollouts of this change; withdraw one of them"
        case .noDevice: "no device that reads this is online, so a rollout would show nothing"
        case .badPercentages(let reason): reason
        }
    }
}

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
    package static func all(canary: Double?, steps: [Double]?) throws -> [Double] {
        let first = canary.map { [$0] } ?? []
        let rest = steps ?? usual.filter { $0 > canary ?? 0 }
        let percents = first + rest
        for (one, next) in zip(percents, percents.dropFirst()) where next <= one {
            throw RolloutError.badPercentages("the shares must grow: \(percents.map(text).joined(separator: ", "))")
        }
        return percents.last == 100 ? percents : percents + [100]
    }

    /// The share in a text: `5%`, `5 %` or `5`.
    ///
    /// - Throws: `badPercentages` if it is none above 0 and up to 100.
    package static func read(_ text: String) throws -> Double {
        guard let percent = number(text), percent > 0, percent <= 100 else {
            throw RolloutError.badPercentages("\"\(text)\" is no share such as 5%; allowed: above 0 %, up to 100 %")
        }
        return percent
    }

    /// The number in a share.
    package static func number(_ text: String) -> Double? {
        Double((text.hasSuffix("%") ? text.dropLast() : text[...]).filter { $0 != " " })
    }

    /// `5 %`.
    package static func text(_ percent: Double) -> String { "\(JSONValue.number(percent).compactText) %" }
}

/// The time of day in which the steps of a rollout may begin; it may span midnight.
package struct MaintenanceWindow: Equatable, Sendable {
    /// Minutes since midnight.
    package let start: Int
    package let end: Int

    private static let day = 24 * 60

    /// Reads `02:00-05:00`; `nil` for another text.
    package init?(_ text: String) {
        let times = text.split(separator: "-", omittingEmptySubsequences: false).map { MaintenanceWindow.minutes($0) }
        guard times.count == 2, let start = times[0], let end = times[1], start != end else { return nil }
        self.start = start
        self.end = end
    }

    private static func minutes(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return 60 * hours + minutes
    }

    /// The length, s.
    package var length: Double { Double((end - start + MaintenanceWindow.day) % MaintenanceWindow.day) * 60 }

    /// Whether a step that takes `duration` seconds may begin at a time of day, seconds since midnight, and end at another
    /// one: both must be in the window. In a night in which the clock is set, they are not `duration` apart.
    package func admits(secondsSinceMidnight now: Double, duration: Double, end: Double? = nil) -> Bool {
        elapsed(at: now) + duration <= length && end.map { elapsed(at: $0) <= length } != false
    }

    /// Seconds since the beginning of the window, at a time of day.
    private func elapsed(at time: Double) -> Double {
        let day = Double(MaintenanceWindow.day) * 60
        return (time - Double(start) * 60 + day).truncatingRemainder(dividingBy: day)
    }

    /// `02:00-05:00`.
    package var text: String { "\(MaintenanceWindow.text(start))-\(MaintenanceWindow.text(end))" }

    private static func text(_ minutes: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(minutes / 60)):\(two(minutes % 60))"
    }
}
