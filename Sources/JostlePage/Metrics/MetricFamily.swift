/// A family of metrics: everything that is said about it once.
///
/// Names and units follow Prometheus: base units, and the unit at the end of the name.
struct MetricFamily: Equatable, Sendable {
    enum Kind: String, Sendable {
        case gauge, counter
        /// Constant labels; the value is 1.
        case info
    }

    /// The name without `_total` of a counter and `_info` of an info, as OpenMetrics has it.
    let name: String
    let kind: Kind
    /// The unit; the name ends with it. `nil` for numbers of things.
    let unit: String?
    /// The labels of its samples, besides `board` of those of a board.
    let labels: [String]
    /// The number in a board's health report that it shows, and what that is divided by; `nil` if it shows something else.
    let field: String?
    let divisor: Double
    /// A sentence about it, which the documentation repeats.
    let help: String

    private init(
        _ kind: Kind, _ name: String, unit: String? = nil, labels: [String] = [], field: String? = nil,
        divisor: Double = 1, _ help: String
    ) {
        self.kind = kind
        self.name = unit.map { "\(name)_\($0)" } ?? name
        self.unit = unit
        self.labels = labels
        self.field = field
        self.divisor = divisor
        self.help = help
    }

    /// The name of its samples.
    var sampleName: String {
        switch kind {
        case .gauge: name
        case .counter: name + "_total"
        case .info: name + "_info"
        }
    }

    /// The value 1 for true and 0 for false.
    private static func flag(_ name: String, _ help: String) -> MetricFamily {
        MetricFamily(.gauge, name, "\(help): 1, else 0.")
    }

    private static func board(
        _ kind: Kind, _ name: String, unit: String? = nil, labels: [String] = [], field: String? = nil,
        divisor: Double = 1, _ help: String
    ) -> MetricFamily {
        MetricFamily(
            kind, "jostle_board_\(name)", unit: unit, labels: labels, field: field, divisor: divisor, help)
    }
}

// MARK: Boards

extension MetricFamily {
    static let boardInfo = MetricFamily(
        .info, "jostle_board", labels: ["name", "groups", "version", "sensor", "simulated"],
        "The name, groups, version and sensor of the board, and whether the sensor is virtual.")
    static let online = flag("jostle_board_online", "The board is connected to the broker")
    static let lastMessage = board(
        .gauge, "last_message_timestamp", unit: "seconds", "When a message of the board last arrived at the page.")
    static let problem = board(
        .gauge, "problem", labels: ["problem"], "What needs attention, as the board reports it: 1 for each problem.")
    static let followsConfiguration = flag(
        "jostle_board_configuration_followed", "The board follows all layers of the fleet's configuration")
    static let clock = flag("jostle_board_clock_synchronised", "The clock of the board is synchronised")
    static let stopped = flag("jostle_board_stopped", "Sensing is stopped by a command")
    static let uptime = board(.gauge, "uptime", unit: "seconds", field: "uptime", "Time since the start of the agent.")
    static let processor = board(
        .gauge, "cpu", unit: "ratio", field: "cpu_percent", divisor: 100,
        "Use of the processor by the agent; 1 is a whole core.")
    static let memory = board(
        .gauge, "memory", unit: "bytes", field: "memory_mb", divisor: 1 / 1_048_576, "Memory of the agent.")
    static let temperature = board(
        .gauge, "temperature", unit: "celsius", field: "temperature", "Temperature of the chip.")
    static let rate = board(.gauge, "sample_rate", unit: "hertz", field: "rate", "Measured rate of the samples.")
    static let wantedRate = board(.gauge, "wanted_sample_rate", unit: "hertz", "Rate of the samples in the settings.")
    static let periodError = board(
        .gauge, "sample_period_error", unit: "ratio", field: "period_ppm", divisor: 1e6,
        "Error of the chip's oscillator: the period is longer by this.")
    static let samples = board(.counter, "samples", field: "samples", "Samples that were measured.")
    static let gaps = board(.counter, "sample_gaps", field: "gaps", "Times that samples were lost.")
    static let lostSamples = board(.counter, "lost_samples", field: "lost_samples", "Samples that were lost.")
    static let overflows = board(
        .counter, "sensor_overflows", field: "overflows", "Times that the buffer of the chip was full.")
    static let misalignments = board(
        .counter, "sensor_misalignments", field: "misalignments", "Times that the buffer of the chip was out of step.")
    static let recoveries = board(
        .counter, "sensor_recoveries", field: "recoveries", "Times that the chip was set up again after a fault.")
    static let clippedSamples = board(
        .counter, "clipped_samples", field: "clipped_samples", "Samples at the end of a measuring range.")
    static let busErrors = board(
        .counter, "bus_errors", labels: ["kind"], "Errors on the bus of the sensor, by their kinds.")
    static let gestures = board(.counter, "gestures", field: "gestures", "Gestures that the agent recognised.")
    static let droppedDeliveries = board(
        .counter, "dropped_deliveries", field: "dropped_deliveries",
        "Messages between threads of the agent that found no room.")
    static let connects = board(.counter, "mqtt_connects", field: "connects", "Connections of the agent to a broker.")
    static let outbox = board(.gauge, "outbox_messages", field: "outbox", "Messages that wait for the broker.")
    static let outboxSize = board(
        .gauge, "outbox_size", unit: "bytes", field: "outbox_bytes", "Size of these messages.")
    static let outboxDropped = board(
        .counter, "outbox_dropped_messages", field: "outbox_dropped",
        "Messages that were dropped because the outbox was full.")
    static let outboxExpired = board(
        .counter, "outbox_expired_messages", field: "outbox_expired",
        "Messages that were dropped because they were too old.")
    static let events = board(
        .counter, "events", labels: ["gesture", "phase", "simulated"],
        "Phases of gestures that arrived at the page, each event once, since its start.")
    static let malformedMessages = board(
        .counter, "malformed_messages", "Messages of the board that the page could not read.")
    static let roll = board(.gauge, "roll", unit: "radians", "Roll, relative to the reference attitude.")
    static let pitch = board(.gauge, "pitch", unit: "radians", "Pitch, relative to the reference attitude.")
    static let yaw = board(.gauge, "yaw", unit: "radians", "Yaw, relative to the reference attitude; it drifts.")
    static let tilt = board(
        .gauge, "tilt", unit: "radians", "Angle from the reference attitude, or from lying flat if there is none.")
    static let moving = flag("jostle_board_moving", "The board moves")
    static let vibrating = flag("jostle_board_vibrating", "A machine makes the board vibrate")
    static let vibration = board(
        .gauge, "vibration", unit: "meters_per_second_squared",
        "Vibration, RMS; 0 if it is far below the threshold of the gesture.")
    static let vibrationFrequency = board(
        .gauge, "vibration_frequency", unit: "hertz", "Dominant frequency of the vibration, while there is one.")
    static let machineRunning = flag("jostle_board_machine_running", "The machine runs, or pauses in a run")
    static let machinePaused = flag("jostle_board_machine_paused", "The machine pauses in a run")
    static let machineChanged = flag("jostle_board_machine_changed", "The machine is not as it was in its earlier runs")
    static let machineRunsToday = board(.gauge, "machine_runs_today", "Runs of the machine that ended today.")
    static let machineVelocity = board(
        .gauge, "machine_velocity", unit: "meters_per_second",
        "RMS of the velocity from 10 Hz up in the last minute, while the machine runs; absent below the sensor's noise."
    )
    static let machineAcceleration = board(
        .gauge, "machine_acceleration", unit: "meters_per_second_squared",
        "RMS of the acceleration from 10 Hz up, likewise.")
}

// MARK: The page

extension MetricFamily {
    static let build = MetricFamily(.info, "jostle_page_build", labels: ["version"], "The version of the page.")
    static let brokerConnected = flag("jostle_page_broker_connected", "The page is connected to the broker")
    static let boards = MetricFamily(.gauge, "jostle_page_boards", "Boards that the page knows.")
    static let viewers = MetricFamily(.gauge, "jostle_page_viewers", "Browsers that have a page open.")
    static let messages = MetricFamily(.counter, "jostle_page_messages", "Messages that arrived from the broker.")
    static let droppedMessages = MetricFamily(
        .counter, "jostle_page_dropped_messages", "Messages of the broker that arrived too fast and were dropped.")
    static let ignoredMessages = MetricFamily(
        .counter, "jostle_page_ignored_messages", "Messages of boards beyond the 5000 that the page can show.")
    static let viewerDroppedMessages = MetricFamily(
        .counter, "jostle_page_viewer_dropped_messages", "Messages that browsers did not take in time.")
    static let requests = MetricFamily(
        .counter, "jostle_page_requests", labels: ["code"], "Requests, by the status of the answer.")
    static let processTime = MetricFamily(
        .counter, "process_cpu", unit: "seconds", "Processor time of the page's program.")
    static let residentMemory = MetricFamily(
        .gauge, "process_resident_memory", unit: "bytes", "Memory of the page's program.")
    static let virtualMemory = MetricFamily(
        .gauge, "process_virtual_memory", unit: "bytes", "Address space of the page's program.")
    static let processStart = MetricFamily(
        .gauge, "process_start_time", unit: "seconds", "When the page's program started.")
    static let openDescriptors = MetricFamily(.gauge, "process_open_fds", "File descriptors that the page has open.")
    static let maximumDescriptors = MetricFamily(
        .gauge, "process_max_fds", "File descriptors that the page may have open.")
}

extension MetricFamily {
    /// All families, in the order in which they are served.
    static let all: [MetricFamily] = [
        boardInfo, online, lastMessage, problem, followsConfiguration, clock, stopped, uptime, processor, memory,
        temperature, rate, wantedRate, periodError, samples, gaps, lostSamples, overflows, misalignments, recoveries,
        clippedSamples, busErrors, gestures, droppedDeliveries, connects, outbox, outboxSize, outboxDropped,
        outboxExpired, events, malformedMessages, roll, pitch, yaw, tilt, moving, vibrating, vibration,
        vibrationFrequency, machineRunning, machinePaused, machineChanged, machineRunsToday, machineVelocity,
        machineAcceleration, build, brokerConnected, boards, viewers, messages, droppedMessages, ignoredMessages,
        viewerDroppedMessages, requests, processTime, residentMemory, virtualMemory, processStart, openDescriptors,
        maximumDescriptors,
    ]
}
