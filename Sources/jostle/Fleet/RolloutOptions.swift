internal import Documents
internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

/// The options of a rollout: a change that reaches the devices step by step.
struct RolloutOptions {
    /// The growing shares, 100 % at the end.
    var percents: [Double]
    /// The longest time of a step, s.
    var wait: Double
    var limits: RolloutLimits
    /// When steps may begin; `nil` at any time.
    var window: MaintenanceWindow?
    /// Decides which devices a share selects; `nil` for a new one.
    var seed: String?

    /// The options of the commands that can begin a rollout.
    static let options =
        [
            Option(
                "canary", value: "SHARE",
                help: "roll out: first to this share of the devices, such as 5%, as a candidate")
        ] + pace + [
            Option("seed", value: "TEXT", help: "choose the same devices as another rollout with this seed")
        ]

    /// The options of a rollout that has begun.
    static let pace = [
        Option("steps", value: "SHARES", help: "the next shares; 25%,100% by default. 100% always comes last"),
        Option(
            "abort-above", value: "SHARE",
            help: "stop and withdraw the change if more of the devices fail; 2% by default"),
        Option(
            "max-event-rate", value: "RATE",
            help: "the gestures that a device may recognise: 10x as before by default, or 120 an hour, or off"),
        Option("only", value: "TIMES", help: "begin steps only at these times of day, such as 02:00-05:00"),
    ]

    static let details = """
        With --canary, a share of the devices gets the change first, then larger shares, and at last all. A step ends as
        soon as its devices have applied the change, passed their trial and reported their health, or after --wait (10m by
        default). A device that was online and is silent, offline, or refused or undid the change then has failed, and one
        with new problems, gaps, or many more gestures. If too many fail, the change is withdrawn (exit status 65).
        An interrupted rollout stays as it is: the same command goes on with it, or jostle fleet rollout.
        """

    /// The longest time of a step unless another is given, s.
    private static let usualWait = 600.0

    /// Whether the arguments ask for a rollout.
    ///
    /// - Throws: status 64 if there are options of a rollout without one.
    static func areIn(_ arguments: Arguments) throws -> Bool {
        if arguments.value("canary") != nil { return true }
        if let option = (pace.map(\.name) + ["seed"]).first(where: { arguments.value($0) != nil }) {
            throw Failure(.usage, "--\(option) is for a rollout: add --canary, such as --canary 5%")
        }
        return false
    }

    init(_ arguments: Arguments) throws {
        if arguments.has("no-wait") {
            throw Failure(.usage, "a rollout waits for the devices: leave out --no-wait")
        }
        percents = try Failure.with(.usage) {
            let canary = try arguments.value("canary").map(RolloutPercents.read)
            let steps = try arguments.value("steps").map { text in
                try text.split(separator: ",", omittingEmptySubsequences: false)
                    .map { word in try RolloutPercents.read(String(word)) }
            }
            return try RolloutPercents.all(canary: canary, steps: steps)
        }
        wait = try arguments.seconds("wait") ?? RolloutOptions.usualWait
        limits = RolloutLimits()
        limits.abortAbove = try RolloutOptions.abortAbove(arguments) ?? limits.abortAbove
        if let text = arguments.value("max-event-rate") {
            guard let rate = EventRateLimit.read(text) else {
                throw Failure(
                    .usage,
                    "--max-event-rate is \"\(text)\", not a factor above 1x, gestures an hour such as 120, or off")
            }
            limits.eventRate = rate
        }
        if let text = arguments.value("only") {
            guard let window = MaintenanceWindow(text) else {
                throw Failure(.usage, "--only is \"\(text)\", not times of day such as 02:00-05:00")
            }
            guard window.length >= wait else {
                throw Failure(.usage, "--only \(window.text) is shorter than --wait, so that no step would fit into it")
            }
            self.window = window
        }
        if let text = arguments.value("seed") {
            guard let line = MessageText.line(text, maximum: 200), line == text else {
                throw Failure(.usage, "--seed must be one line of at most 200 bytes")
            }
            seed = line
        }
    }

    private static func abortAbove(_ arguments: Arguments) throws -> Double? {
        guard let text = arguments.value("abort-above") else { return nil }
        guard let percent = RolloutPercents.number(text), (0...100).contains(percent) else {
            throw Failure(.usage, "--abort-above is \"\(text)\", not a share from 0% to 100%")
        }
        return percent
    }
}

/// `jostle fleet rollout`: the rollouts that are under way, and what `--canary` does in other commands.
extension FleetCommand {
    static func listRollouts(_ arguments: Arguments) throws {
        let operation = try FleetOperation(arguments)
        let model = operation.model
        let plans = RolloutPlan.seeds(in: model).compactMap { RolloutPlan(runningIn: model, seed: $0) }
        if plans.isEmpty, !operation.isJSON { Output.line("no rollout is under way") }
        Output.errors(lostRollouts(model))
        for plan in plans {
            let readers = plan.readers(in: model)
            let chosen = readers.filter { $0.place < plan.reached / 100 }
            let layers = plan.layers.map(\.document)
            let envelope = layers.compactMap { model.documents[$0]?.envelope }.max { ($0.at ?? 0) < ($1.at ?? 0) }
            let have = chosen.filter { reader in
                layers.contains { model.boards[reader.id]?.status(of: $0)?.isCandidate == true }
            }
            guard !operation.isJSON else {
                Output.json([
                    "rollout": .string(plan.seed), "percent": .number(plan.reached),
                    "documents": .strings(layers.map(\.text)), "devices": .number(readers.count),
                    "chosen": .number(chosen.count), "have": .number(have.count), "by": .optional(envelope?.by),
                    "at": .optional(envelope?.at), "note": .optional(envelope?.note),
                ])
                continue
            }
            Output.line("\(plan.seed): \(layers.map(\.text).joined(separator: ", "))")
            Output.line(
                "  \(RolloutPercents.text(plan.reached)): \(chosen.count) of \(FleetText.count(readers.count, "device")), "
                    + "\(have.count) have the candidate")
            if let envelope { Output.line("  \(FleetText.origin(envelope))") }
        }
    }

    static func resumeRollout(_ arguments: Arguments) throws {
        let options = try RolloutOptions(arguments)
        let operation = try FleetOperation(arguments, reading: FleetSession.health)
        let plan = try plan(arguments, operation)
        let present = plan.layers.lazy.compactMap { operation.model.documents[$0.document]?.envelope?.note }.first
        var run = RolloutRun(plan, options, operation, note: operation.note ?? present)
        try run.run()
    }

    static func withdrawRollout(_ arguments: Arguments) throws {
        let operation = try FleetOperation(arguments)
        let plan = try plan(arguments, operation)
        var run = RolloutRun(plan, try RolloutOptions(arguments), operation, note: operation.note ?? "withdrawn")
        try run.withdraw()
    }

    /// Names the documents whose candidates devices have, but not the broker any more.
    private static func lostRollouts(_ model: FleetModel) -> [String] {
        var documents: Set<FleetDocumentID> = []
        for board in model.boards.values {
            for (document, layer) in board.statuses where layer.isCandidate { documents.insert(document) }
        }
        return documents.sorted().compactMap { id in
            let plan = RevisionPlan(for: id, in: model)
            guard plan.isLostWithCandidate, let lost = plan.lost else { return nil }
            return
                "jostle: \(id.text): the broker has lost revision \(lost.number), which was being rolled out. To go on"
                + "\(FleetEdit.place(plan)): \(FleetEdit.rollback(id, plan.kept ?? lost))"
        }
    }

    /// The rollout that is named, or the only one.
    private static func plan(_ arguments: Arguments, _ operation: FleetOperation) throws -> RolloutPlan {
        try operation.session.complete(Array(operation.model.documents.keys))
        let model = operation.model
        let seeds = RolloutPlan.seeds(in: model)
        guard let seed = arguments.operand(0) ?? (seeds.count == 1 ? seeds[0] : nil) else {
            guard seeds.isEmpty else {
                throw Failure(.usage, lines: ["there are several rollouts; name one:"] + seeds.map { "  \($0)" })
            }
            throw Failure(.unavailable, lines: ["no rollout is under way"] + lostRollouts(model))
        }
        guard let plan = RolloutPlan(runningIn: model, seed: seed) else {
            throw Failure(.unavailable, "there is no rollout \(seed) at the broker")
        }
        // A broker that was set back may hold a rollout that has ended since.
        for layer in plan.layers {
            try FleetEdit.requireNothingLost(layer.document, RevisionPlan(for: layer.document, in: model), model)
        }
        return plan
    }
}
