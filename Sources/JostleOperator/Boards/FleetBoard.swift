internal import Documents
internal import JostleConfiguration
package import JostleMessages
package import MotionCore

/// A device at a broker, as far as it has published anything; bounded, whatever the messages contain.
package struct FleetBoard: Equatable, Sendable {
    package let id: String

    /// The availability at the broker; `nil` if it is unknown.
    package internal(set) var isOnline: Bool?
    /// When it went offline, if that happened while the program was listening.
    package internal(set) var offlineSince: Timestamp?
    /// The time of its last report by its own clock, milliseconds since 1970.
    package internal(set) var lastReport: Int64?
    package internal(set) var attitude: Attitude?
    package internal(set) var motion: Motion?
    package internal(set) var state: State?
    /// The time of the last state by the device's clock, milliseconds since 1970.
    package internal(set) var stateTime: Int64?
    package internal(set) var machine: Machine?
    package internal(set) var health: Health?
    /// What it reports of its configuration, and when that arrived.
    package internal(set) var report: BoardReport?
    var reportArrival: Timestamp?

    /// The events, the newest first.
    package private(set) var events: [WatchedEvent] = []

    /// The last movement that was almost a gesture, for each gesture, the newest first.
    package private(set) var nearMisses: [WatchedNearMiss] = []

    /// The number of messages that could not be parsed, and the reason for the last one.
    package internal(set) var malformedMessages = 0
    package internal(set) var lastProblem: String?

    /// The attitude relative to the reference attitude, degrees.
    package struct Attitude: Equatable, Sendable {
        package var roll: Double
        package var pitch: Double
        package var yaw: Double
        package var arrival: Timestamp

        /// Reads a message of the topic `attitude`; `nil` if it is none.
        package init?(payload: [UInt8], at arrival: Timestamp) {
            do {
                self.init(try JSONValue.foreignObject(payload, topic: "attitude"), at: arrival)
            } catch {
                return nil
            }
        }

        init?(_ fields: JSONValue, at now: Timestamp) {
            guard let roll = fields["roll"]?.foreignNumber, let pitch = fields["pitch"]?.foreignNumber,
                let yaw = fields["yaw"]?.foreignNumber,
                abs(roll) <= 360, abs(pitch) <= 360, abs(yaw) <= 360
            else { return nil }
            self.roll = roll
            self.pitch = pitch
            self.yaw = yaw
            arrival = now
        }
    }

    /// The magnitudes of linear acceleration, m/s², and of the rotation rate, °/s; the temperature, °C.
    package struct Motion: Equatable, Sendable {
        package var acceleration: Double?
        package var rotation: Double?
        package var temperature: Double?

        init(_ fields: JSONValue) {
            acceleration = fields["acceleration"]?.foreignLength
            rotation = fields["rotation"]?.foreignLength
            temperature = fields["temperature"]?.foreignNumber
        }
    }

    /// The device state; tilt in degrees, vibration in m/s².
    package struct State: Equatable, Sendable {
        package var side: String?
        package var isMoving: Bool?
        package var isVibrating: Bool?
        package var vibration: Double?
        package var tilt: Double?
        package var isSimulated: Bool
        package var isStopped: Bool

        init(_ fields: JSONValue) {
            side = fields["side"]?.foreignString
            isMoving = fields["moving"]?.bool
            isVibrating = fields["vibrating"]?.bool
            vibration = fields["vibration"]?.foreignNumber
            tilt = fields["tilt"]?.foreignNumber
            isSimulated = fields["simulated"]?.bool ?? false
            isStopped = fields["stopped"]?.bool ?? false
        }
    }

    /// A device that has not published anything yet.
    package init(id: String) {
        self.id = id
    }

    /// Whether sensing was stopped by a command.
    package var isStopped: Bool { state?.isStopped ?? health?.isStopped ?? false }

    /// Whether the device is offline, reports problems, or does not follow a layer of its configuration.
    package var needsAttention: Bool {
        isOnline == false || health?.problems.isEmpty == false || layers.contains { $0.status.isProblem }
    }

    /// Records an event.
    ///
    /// - Returns: whether the event is new: a broker may deliver one twice.
    mutating func record(_ event: WatchedEvent, keeping limit: Int) -> Bool {
        if let id = event.id, events.contains(where: { $0.id == id }) { return false }
        events.insert(event, at: 0)
        // How an old gesture changed is the first to go: a long turn leaves the others in the list.
        while events.count > limit {
            events.remove(at: events.dropFirst().lastIndex { $0.phase == "changed" } ?? events.count - 1)
        }
        return true
    }

    /// Records a near miss, in place of the last one of the same gesture.
    mutating func record(_ miss: WatchedNearMiss) {
        nearMisses.removeAll { $0.gesture == miss.gesture }
        nearMisses.insert(miss, at: 0)
        // There are no more gestures; a foreign client may invent some.
        if nearMisses.count > Gesture.allCases.count + LearnedGestureSettings.mostGestures { nearMisses.removeLast() }
    }
}

/// What became of its documents.
extension FleetBoard {
    /// The layers, in the device's order; none if it does not report any.
    package var layers: [BoardReport.Layer] { report?.layers ?? [] }

    /// The worst status among the layers; one that this program does not know, so that it is seen. `nil` without layers.
    package var worstStatus: LayerStatus? { layers.map(\.status).min { $0.rank < $1.rank } }

    /// What the board reports of a document; `nil` if it reports nothing of it.
    package func status(of document: FleetDocumentID) -> BoardReport.Layer? {
        switch document {
        case .registry(let id): id == self.id ? report?.registry : nil
        case .device(let id): id == self.id ? report?.layer(.device) : nil
        case .all, .group: document.layer.flatMap { report?.layer($0) }
        }
    }

    /// What the board reports of all its documents, lowest layer first.
    package var statuses: [(document: FleetDocumentID, layer: BoardReport.Layer)] {
        var statuses = layers.compactMap { layer in
            layer.layer.map { (document: FleetDocumentID($0, of: id), layer: layer) }
        }
        if let registry = report?.registry { statuses.append((.registry(id), registry)) }
        let order = report?.groups ?? []
        return statuses.sorted { one, other in
            if case .group(let a) = one.document, case .group(let b) = other.document {
                let (first, second) = (order.firstIndex(of: a) ?? order.count, order.firstIndex(of: b) ?? order.count)
                return first == second ? a < b : first < second
            }
            return one.document < other.document
        }
    }

    /// What needs somebody's attention, in short texts.
    package var problems: [String] {
        let problems = statuses.compactMap { _, layer -> String? in
            if layer.status.isProblem { return "\(layer.name) \(layer.status.word)" }
            return layer.candidateErrors.isEmpty ? nil : "\(layer.name) candidate refused"
        }
        return problems + (health?.problems ?? [])
    }
}

extension FleetBoard {
    /// The machine that carries the device: its phase, and its last minute if it runs.
    package struct Machine: Equatable, Sendable {
        package var phase: MachinePhase
        /// The runs that had ended today when this was published.
        package var runsToday: Double?
        /// RMS of the velocity, m/s, and of the acceleration, m/s²; `nil` if they are below the sensor's noise.
        package var velocity: Double?
        package var acceleration: Double?
        /// Whether it is not as it was in its earlier runs.
        package var isChanged: Bool
        /// When it was published, by the device's clock, milliseconds since 1970.
        package var time: Int64?
        package var arrival: Timestamp
        /// Seconds since the run began, or since it last vibrated in a pause.
        private var lasted: Double?

        init?(_ fields: JSONValue, at now: Timestamp) {
            guard let phase = fields["phase"]?.string.flatMap({ MachinePhase(word: $0) }) else { return nil }
            self.phase = phase
            runsToday = fields["runs_today"]?.foreignNumber
            let below = fields["below"]?.foreignTexts ?? []
            // The name ends with the highest frequency: `v_10_260`.
            func value(_ prefix: String) -> Double? {
                let members = (fields.members ?? []).prefix(40)
                let member = members.first { $0.name.hasPrefix(prefix) && !below.contains($0.name) }
                return member?.value.foreignNumber
            }
            velocity = value("v_10_").map { $0 / 1000 }
            acceleration = value("a_10_")
            isChanged = fields["changed"]?.bool ?? false
            time = fields.reportTime
            arrival = now
            lasted = fields[phase == .paused ? "quiet_for" : "duration"]?.foreignNumber
        }

        /// Seconds for which it has run or, in a pause, has been quiet, at a time in milliseconds since 1970; `nil` if it is
        /// off.
        package func seconds(at milliseconds: Int64) -> Double? {
            guard phase != .off, let lasted else { return nil }
            return lasted + (time.map { Double(max(0, milliseconds - $0)) / 1000 } ?? 0)
        }

        /// Whether it says nothing that an earlier one did not: the broker sends it again at each subscription.
        func isRepeated(after old: Machine, isRetained: Bool) -> Bool {
            guard isRetained, let time, let oldTime = old.time else { return false }
            return time <= oldTime
        }
    }

    /// The agent's health report, with counters since its start.
    package struct Health: Equatable, Sendable {
        /// All numbers of the report by their names there.
        package let numbers: [String: Double]
        package var busErrors: Double?
        /// The errors of the bus by their kinds.
        package var busErrorKinds: [String: Double]
        package var problems: [String]
        package var sensor: String?
        package var sensorState: String?
        package var sensorFault: String?
        /// What the accelerometer measures wrong, and what to do about it.
        package var sensorAdvice: String?
        /// What the rules of `actions` cannot do.
        package var actionFaults: [String]
        package var isStopped: Bool
        /// Whether the system has synchronised the clock; `nil` if the report does not say.
        package var isClockSynchronised: Bool?
        package var version: String?
        /// The upgrade that the configuration asks for.
        package var upgrade: Upgrade?
        package var arrival: Timestamp
        /// When it was made, by the device's clock, milliseconds since 1970.
        private let time: Int64?
        /// The hash of the message.
        private let hash: Int

        init(_ payload: [UInt8], _ fields: JSONValue, at now: Timestamp) {
            numbers = fields.foreignNumbers(atMost: 200).filter { $0.key.utf8.count <= 40 }
            busErrors = fields["bus_errors"]?.members.map { $0.compactMap(\.value.foreignNumber).reduce(0, +) }
            busErrorKinds = fields["bus_errors"]?.foreignNumbers(atMost: 8) ?? [:]
            problems = fields["problems"]?.foreignTexts ?? []
            sensor = fields["sensor"]?.foreignString
            sensorState = fields["sensor_state"]?.foreignString
            sensorFault = fields["sensor_fault"]?.foreignString
            sensorAdvice = fields["sensor_advice"]?.foreignString
            actionFaults = fields["actions"]?["faults"]?.foreignTexts ?? []
            isStopped = fields["stopped"]?.bool ?? false
            let clock = fields["clock"]?.foreignString
            isClockSynchronised = clock == "synchronised" ? true : clock == "unsynchronised" ? false : nil
            version = fields["version"]?.foreignString
            upgrade = fields["upgrade"].flatMap { Upgrade($0) }
            arrival = now
            time = fields.reportTime
            hash = payload.hashValue
        }

        /// Sample rate in Hz, deviation of the sample period in parts per million, temperature in °C.
        package var rate: Double? { numbers["rate"] }
        package var period: Double? { numbers["period_ppm"] }
        package var temperature: Double? { numbers["temperature"] }
        /// The stretches of lost samples.
        package var gaps: Double? { numbers["gaps"] }
        package var gestures: Double? { numbers["gestures"] }
        /// The messages that wait for the broker.
        package var outbox: Double? { numbers["outbox"] }
        /// CPU use in per cent of a core, memory in MiB, uptime in seconds.
        package var processor: Double? { numbers["cpu_percent"] }
        package var memory: Double? { numbers["memory_mb"] }
        package var uptime: Double? { numbers["uptime"] }

        /// Whether it says nothing that an earlier report did not: it is the same, or an older one that the broker held, as
        /// it does when it comes back.
        func isRepeated(after old: Health, isRetained: Bool) -> Bool {
            guard isRetained else { return false }
            guard hash != old.hash else { return true }
            // If only one of them has a time, another run has begun, or the clock was set since.
            guard (time == nil) == (old.time == nil) else { return false }
            if let time, let oldTime = old.time { return time <= oldTime }
            if let uptime, let oldUptime = old.uptime { return uptime <= oldUptime }
            return false
        }
    }

    /// An upgrade of a device's program.
    package struct Upgrade: Equatable, Sendable {
        /// `waiting`, `installing`, `installed` or `failed`.
        package var state: String
        /// The version that the configuration asks for.
        package var wanted: String
        /// Why it failed or has to wait.
        package var reason: String?

        init?(_ fields: JSONValue) {
            guard let state = fields["state"]?.foreignString, let wanted = fields["wanted"]?.foreignString else {
                return nil
            }
            self.state = state
            self.wanted = wanted
            reason = fields["reason"]?.foreignString
        }

        /// `upgrade to 0.5.0-1: failed: it does not start`.
        package var text: String { "upgrade to \(wanted): \(state)" + (reason.map { ": \($0)" } ?? "") }
    }
}
