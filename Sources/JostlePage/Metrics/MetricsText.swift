internal import HTTPServer
internal import JostleCommandLine
internal import JostleOperator
internal import LinuxSystem
internal import MotionCore

/// The text that Prometheus reads: OpenMetrics 1.0, or the older text format 0.0.4.
struct MetricsText {
    enum Format: Sendable {
        case openMetrics, prometheus

        /// The format that a client prefers, by its header `Accept` (RFC 9110, section 12.5.1). Without a preference it is
        /// the older one, which every client reads.
        init(accepted header: String?) {
            var quality = (openMetrics: 0.0, plain: 0.0)
            for item in HeaderItem.list(header) {
                let version = item.parameter("version")
                switch item.value {
                case "application/openmetrics-text" where version == nil || version == "1.0.0":
                    quality.openMetrics = max(quality.openMetrics, item.weight)
                case "text/plain" where version == nil || version == "0.0.4":
                    quality.plain = max(quality.plain, item.weight)
                default: break
                }
            }
            self = quality.openMetrics > 0 && quality.openMetrics >= quality.plain ? .openMetrics : .prometheus
        }

        var contentType: String {
            switch self {
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            }
        }
    }

    /// The lines of each family, by its name: they must stand together, whatever the order in which they are added.
    private var lines: [String: [UInt8]] = [:]

    /// Adds a sample. `nil`, infinities and what is no number add nothing, and neither does a negative counter: what is
    /// not known is absent.
    mutating func add(_ family: MetricFamily, _ labels: MetricLabels, _ value: Double?) {
        guard let value, value.isFinite, family.kind == .gauge || value >= 0 else { return }
        lines[family.name, default: []].append(contentsOf: family.sampleName.utf8)
        if !labels.bytes.isEmpty {
            lines[family.name]?.append(UInt8(ascii: "{"))
            lines[family.name]?.append(contentsOf: labels.bytes)
            lines[family.name]?.append(UInt8(ascii: "}"))
        }
        lines[family.name]?.append(contentsOf: " \(MetricsText.number(value))\n".utf8)
    }

    /// Adds a sample that is 1 or 0.
    mutating func add(_ family: MetricFamily, _ labels: MetricLabels, _ flag: Bool?) {
        add(family, labels, flag.map { $0 ? 1 : 0 })
    }

    /// Adds a sample without labels.
    mutating func add(_ family: MetricFamily, _ value: Double?) { add(family, MetricLabels(), value) }

    /// Takes the whole text out. A family without samples is left out.
    mutating func takeBytes(_ format: Format) -> [UInt8] {
        var bytes: [UInt8] = []
        // The text of thousands of boards has megabytes: no byte is in memory twice.
        bytes.reserveCapacity(lines.values.reduce(16_384) { $0 + $1.count })
        for family in MetricFamily.all {
            guard let lines = lines.removeValue(forKey: family.name) else { continue }
            bytes += MetricsText.head(of: family, format).utf8
            bytes += lines
        }
        if format == .openMetrics { bytes += "# EOF\n".utf8 }
        return bytes
    }

    private static func head(of family: MetricFamily, _ format: Format) -> String {
        // Both formats escape these; quotes are escaped in OpenMetrics only, so there are none.
        let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        switch format {
        case .openMetrics:
            return "# TYPE \(family.name) \(family.kind.rawValue)\n"
                + (family.unit.map { "# UNIT \(family.name) \($0)\n" } ?? "") + "# HELP \(family.name) \(help)\n"
        case .prometheus:
            // The older format names the samples, and has no infos.
            let kind = family.kind == .info ? "gauge" : family.kind.rawValue
            return "# HELP \(family.sampleName) \(help)\n# TYPE \(family.sampleName) \(kind)\n"
        }
    }

    /// A finite number; a whole one without decimals.
    private static func number(_ value: Double) -> String {
        // Beyond, a Double is not exact to the unit.
        abs(value) < 9e15 && value == value.rounded() ? "\(Int64(value))" : "\(value)"
    }
}

/// The labels of a sample, escaped.
struct MetricLabels: Equatable, Sendable {
    private(set) var bytes: [UInt8] = []

    init() {}

    /// `labels` with their values. A value that is not known is an empty text, which means to Prometheus that there is no
    /// such label.
    init(_ labels: KeyValuePairs<String, String>) {
        for (name, value) in labels { add(name, value) }
    }

    /// The same labels and one more.
    func and(_ name: String, _ value: String) -> MetricLabels {
        var labels = self
        labels.add(name, value)
        return labels
    }

    private mutating func add(_ name: String, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        bytes += name.utf8
        bytes += "=\"".utf8
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\""): bytes += "\\\"".utf8
            case 0x0A: bytes += "\\n".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

extension BoardList {
    /// How many times its interval a measured value outlives its last message: two may get lost.
    private static let patience = 3.0
    /// Seconds between two messages of a board that does not report its settings: the defaults.
    private static let intervals = (health: 60.0, attitude: 30.0)
    /// Seconds between two messages about a machine that runs.
    private static let machineInterval = 60.0

    /// Adds the metrics of all boards.
    ///
    /// Counters and the availability stay. A measured value is absent if it is not known, or not any more, so that no graph
    /// shows an old one: the board is offline, or has been silent for too long, or this page has no connection to the
    /// broker. `midnight`: when today began, milliseconds since 1970.
    func addMetrics(to text: inout MetricsText, isConnected: Bool, at now: Timestamp, midnight: Int64) {
        for id in model.boards.keys.sorted() {
            guard let device = model.boards[id] else { continue }
            let labels = MetricLabels(["board": id])
            let details = details[id] ?? Details()
            BoardList.addIdentity(of: device, to: &text, labels)
            if isConnected { text.add(.online, labels, device.isOnline) }
            if details.seen > 0 { text.add(.lastMessage, labels, Double(details.seen) / 1000) }
            text.add(.malformedMessages, labels, Double(device.malformedMessages))
            for (kind, count) in details.events.all(isSimulated: device.state?.isSimulated ?? false) {
                let labels = labels.and("gesture", kind.gesture).and("phase", kind.phase)
                text.add(.events, labels.and("simulated", kind.isSimulated ? "true" : "false"), Double(count))
            }
            if let health = device.health { BoardList.addCounters(of: health, to: &text, labels) }
            guard isConnected, device.isOnline == true else { continue }
            text.add(
                .followsConfiguration, labels,
                device.layers.isEmpty ? nil : !device.layers.contains { $0.status.isProblem })
            text.add(.wantedRate, labels, device.report?.rate)
            text.add(.stopped, labels, device.state?.isStopped ?? device.health?.isStopped)
            BoardList.addHealth(of: device, to: &text, labels, at: now)
            guard !device.isStopped else { continue }
            if let state = device.state { BoardList.add(state, details, to: &text, labels) }
            if let machine = device.machine { BoardList.add(machine, to: &text, labels, at: now, midnight: midnight) }
            BoardList.addAttitude(of: device, details, to: &text, labels, at: now)
        }
    }

    private static func addIdentity(of device: FleetBoard, to text: inout MetricsText, _ labels: MetricLabels) {
        let identity = labels.and("name", device.report?.name ?? "")
            .and("groups", (device.report?.groups ?? []).joined(separator: ","))

            .and("version", device.health?.version ?? "").and("sensor", device.health?.sensor ?? "")
            .and("simulated", device.state.map { $0.isSimulated ? "true" : "false" } ?? "")
        text.add(.boardInfo, identity, 1)
    }

    private static func addCounters(of health: FleetBoard.Health, to text: inout MetricsText, _ labels: MetricLabels) {
        addNumbers(.counter, of: health, to: &text, labels)
        // A later agent may have further kinds; two words that are none would be the same series.
        var kinds: [String: Double] = [:]
        for (kind, count) in health.busErrorKinds { kinds[EventCounts.word(kind), default: 0] += count }
        for kind in kinds.keys.sorted() { text.add(.busErrors, labels.and("kind", kind), kinds[kind]) }
    }

    private static func addHealth(
        of device: FleetBoard, to text: inout MetricsText, _ labels: MetricLabels, at now: Timestamp
    ) {
        // Without reports, the last one is not valid for ever.
        let interval = device.report?.healthInterval.flatMap { $0 > 0 ? $0 : nil } ?? intervals.health
        guard let health = device.health, now.seconds(since: health.arrival) <= patience * interval else { return }
        for problem in Set(health.problems.map(EventCounts.word)).sorted() {
            text.add(.problem, labels.and("problem", problem), 1)
        }
        text.add(.clock, labels, health.isClockSynchronised)
        addNumbers(.gauge, of: health, to: &text, labels)
    }

    private static func addNumbers(
        _ kind: MetricFamily.Kind, of health: FleetBoard.Health, to text: inout MetricsText, _ labels: MetricLabels
    ) {
        for family in MetricFamily.all where family.kind == kind {
            guard let field = family.field, let number = health.numbers[field] else { continue }
            text.add(family, labels, number / family.divisor)
        }
    }

    private static func add(
        _ state: FleetBoard.State, _ details: Details, to text: inout MetricsText, _ labels: MetricLabels
    ) {
        text.add(.moving, labels, state.isMoving)
        text.add(.tilt, labels, state.tilt.map { $0 * radiansPerDegree })
        text.add(.vibrating, labels, state.isVibrating)
        text.add(.vibration, labels, state.vibration)
        if state.isVibrating == true { text.add(.vibrationFrequency, labels, details.vibrationFrequency) }
    }

    private static func add(
        _ machine: FleetBoard.Machine, to text: inout MetricsText, _ labels: MetricLabels, at now: Timestamp,
        midnight: Int64
    ) {
        text.add(.machineRunning, labels, machine.phase != .off)
        text.add(.machinePaused, labels, machine.phase == .paused)
        text.add(.machineChanged, labels, machine.isChanged)
        // A machine that has been off since yesterday has not run today.
        text.add(.machineRunsToday, labels, machine.time.flatMap { $0 >= midnight ? machine.runsToday : 0 })
        guard machine.phase == .running, now.seconds(since: machine.arrival) <= patience * machineInterval else {
            return
        }
        text.add(.machineVelocity, labels, machine.velocity)
        text.add(.machineAcceleration, labels, machine.acceleration)
    }

    private static func addAttitude(
        of device: FleetBoard, _ details: Details, to text: inout MetricsText, _ labels: MetricLabels,
        at now: Timestamp
    ) {
        let heartbeat = device.report?.attitudeHeartbeat ?? intervals.attitude
        guard let last = details.attitude, heartbeat == 0 || now.seconds(since: last.arrival) <= patience * heartbeat,
            let attitude = FleetBoard.Attitude(payload: last.payload, at: last.arrival)
        else { return }
        text.add(.roll, labels, attitude.roll * radiansPerDegree)
        text.add(.pitch, labels, attitude.pitch * radiansPerDegree)
        text.add(.yaw, labels, attitude.yaw * radiansPerDegree)
    }
}

/// What the page counts about itself, for its metrics.
struct PageMetrics {
    var messages = 0
    var droppedMessages = 0
    /// The messages that closed viewers did not take.
    var viewerDroppedMessages = 0
    /// The answers by their status.
    private var requests: [Int: Int] = [:]

    mutating func count(status: Int) { requests[status, default: 0] += 1 }

    /// What it is now.
    struct Present {
        var isConnected: Bool
        var boards: Int
        var viewers: Int
        var ignoredMessages: Int
        /// The messages that open viewers did not take.
        var viewerDroppedMessages: Int
    }

    /// Adds the metrics of the page and of its process.
    func add(to text: inout MetricsText, _ present: Present) {
        text.add(.build, MetricLabels(["version": version]), 1)
        text.add(.brokerConnected, MetricLabels(), present.isConnected)
        text.add(.boards, Double(present.boards))
        text.add(.viewers, Double(present.viewers))
        text.add(.messages, Double(messages))
        text.add(.droppedMessages, Double(droppedMessages))
        text.add(.ignoredMessages, Double(present.ignoredMessages))
        text.add(.viewerDroppedMessages, Double(viewerDroppedMessages + present.viewerDroppedMessages))
        for status in requests.keys.sorted() {
            text.add(.requests, MetricLabels(["code": "\(status)"]), Double(requests[status] ?? 0))
        }
        let process = ProcessFigures.read()
        text.add(.processTime, process?.processorTime)
        text.add(.residentMemory, process?.residentMemory)
        text.add(.virtualMemory, process?.virtualMemory)
        text.add(.processStart, process?.start)
        text.add(.openDescriptors, ProcessFigures.openDescriptors.map(Double.init))
        text.add(.maximumDescriptors, DescriptorLimit.current.map(Double.init))
    }
}
