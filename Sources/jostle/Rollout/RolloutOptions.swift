internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

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
            CommandUsage.Option(
                name: "canary", value: "SHARE",
                help: "roll out: first to this share of the devices, such as 5%, as a candidate")
        ] + pace + [
            CommandUsage.Option(
                name: "seed", value: "TEXT", help: "choose the same devices as another rollout with this seed")
        ]

    /// The options of a rollout that has begun.
    static let pace = [
        CommandUsage.Option(
            name: "steps", value: "SHARES", help: "the next shares; 25%,100% by default. 100% always comes last"),
        CommandUsage.Option(
            name: "abort-above", value: "SHARE",
            help: "stop and withdraw the change if more of the devices fail; 2% by default"),
        CommandUsage.Option(
            name: "max-event-rate", value: "RATE",
            help: "the gestures that a device may recognise: 10x as before by default, or 120 an hour, or off"),
        CommandUsage.Option(
            name: "only", value: "TIMES", help: "begin steps only at these times of day, such as 02:00-05:00"),
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
    static func areIn(_ arguments: Arguments) throws(CommandFailure) -> Bool {
        if arguments.value("canary") != nil { return true }
        if let option = (pace.map(\.name) + ["seed"]).first(where: { arguments.value($0) != nil }) {
            throw CommandFailure(.usage, "--\(option) is for a rollout: add --canary, such as --canary 5%")
        }
        return false
    }

    init(_ arguments: Arguments) throws(CommandFailure) {
        if arguments.has("no-wait") {
            throw CommandFailure(.usage, "a rollout waits for the devices: leave out --no-wait")
        }
        do throws(RolloutError) {
            let canary = try arguments.value("canary").map(RolloutPercents.read)
            var steps: [Double]?
            if let text = arguments.value("steps") {
                steps = []
                for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                    steps?.append(try RolloutPercents.read(String(word)))
                }
            }
            percents = try RolloutPercents.all(canary: canary, steps: steps)
        } catch {
            throw CommandFailure(.usage, "\(error)")
        }
        wait = try arguments.seconds("wait") ?? RolloutOptions.usualWait
        limits = RolloutLimits()
        limits.abortAbove = try RolloutOptions.abortAbove(arguments) ?? limits.abortAbove
        if let text = arguments.value("max-event-rate") {
            guard let rate = EventRateLimit.read(text) else {
                throw CommandFailure(
                    .usage,
                    "--max-event-rate is \"\(text)\", not a factor above 1x, gestures an hour such as 120, or off")
            }
            limits.eventRate = rate
        }
        if let text = arguments.value("only") {
            guard let window = MaintenanceWindow(text) else {
                throw CommandFailure(.usage, "--only is \"\(text)\", not times of day such as 02:00-05:00")
            }
            guard window.length >= wait else {
                throw CommandFailure(
                    .usage, "--only \(window.text) is shorter than --wait, so that no step would fit into it")
            }
            self.window = window
        }
        if let text = arguments.value("seed") {
            guard let line = MessageText.line(text, maximum: 200), line == text else {
                throw CommandFailure(.usage, "--seed must be one line of at most 200 bytes")
            }
            seed = line
        }
    }

    private static func abortAbove(_ arguments: Arguments) throws(CommandFailure) -> Double? {
        guard let text = arguments.value("abort-above") else { return nil }
        let number = text.hasSuffix("%") ? text.dropLast() : text[...]
        guard let percent = Double(number.filter { $0 != " " }), (0...100).contains(percent) else {
            throw CommandFailure(.usage, "--abort-above is \"\(text)\", not a share from 0% to 100%")
        }
        return percent
    }
}
