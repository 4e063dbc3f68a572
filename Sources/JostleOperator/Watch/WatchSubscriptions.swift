package import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
package import MotionCore

/// What a view of devices subscribes to.
extension BrokerView {
    private static let stateCommand = "get-state"

    /// Prepares to watch the device `id`, or all devices if it is `nil`. `start()` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package static func watching(_ id: String?, _ settings: JostleSettings) throws -> BrokerView {
        let view = try BrokerView(settings, name: "watch")
        try view.subscribe(to: filters(settings.mqtt.prefix, id))
        return view
    }

    /// For a fleet without attitude, motion and near misses: hundreds of devices send thousands of those per second.
    ///
    /// A user may be allowed to see only what devices publish, and no answers and near misses.
    private static func filters(_ prefix: String, _ id: String?) -> [Filter] {
        let root = "\(prefix)/\(id ?? "+")"
        var filters = ["availability", "state", "event/+", "config/reported"].map {
            Filter("\(root)/\($0)", isReliable: true)
        }
        filters += [
            Filter("\(root)/machine"), Filter("\(root)/health"),
            Filter("\(root)/command/\(stateCommand)/result", isOptional: true),
        ]
        guard id != nil else { return filters }
        return filters + ["attitude", "motion"].map { Filter("\(root)/\($0)") }
            + [Filter("\(root)/near-miss", isOptional: true)]
    }

    /// Subscribes to everything that one device publishes, and unsubscribes from the others.
    package func narrow(to id: String, prefix: String) throws {
        unsubscribe(from: BrokerView.filters(prefix, nil))
        try subscribe(to: BrokerView.filters(prefix, id))
    }

    /// Also subscribes to the availability of the other devices, to tell which ones there are. If the broker refuses
    /// that, they stay unknown.
    package func listenForOthers(prefix: String) throws {
        try subscribe(to: [Filter("\(prefix)/+/availability", isReliable: true)], awaitsAnswer: false)
    }

    /// Asks a device for its state. The answer arrives as a message, if this user may send commands and read answers.
    package func askForState(of id: String, prefix: String) {
        var message = BrokerView.request(
            Topics(prefix: prefix, id: id).command(BrokerView.stateCommand), Array("{}".utf8))
        message.qos = .atMostOnce
        message.properties.messageExpiry = nil
        // If it is not accepted, the device publishes its state sooner or later anyway.
        do { try send(message) } catch { return }
    }
}

/// Decides which devices a view asks for their state, so that it does not have to wait for their next message: the
/// attitude of a device at rest comes only every half minute.
package struct StateRequests: Equatable, Sendable {
    /// The most requests per second, and at once: a fleet must not answer all together.
    private static let rate = 5.0

    /// Seconds until a device that did not answer is asked again.
    private static let pause = 30.0

    /// The most requests to a device while it is online: it may not be allowed to answer, or this user to ask.
    private static let attempts = 3

    private struct Request: Equatable {
        var time: Timestamp
        var count: Int
    }

    private var asked: [String: Request] = [:]
    private var budget = TokenBucket(capacity: rate, rate: rate)

    package init() {}

    /// The devices to ask now. A device is asked if it is online and has told the view nothing of what it shows: the
    /// attitude for a single device, the state in a list.
    package mutating func due(_ model: FleetModel, at now: Timestamp) -> [String] {
        asked = asked.filter { model.boards[$0.key]?.isOnline == true }
        var due: [String] = []
        for device in model.boards.values.sorted(by: { $0.id < $1.id }) where isMissing(device, model) {
            let last = asked[device.id]
            if let last {
                let isTired = last.count >= StateRequests.attempts
                if isTired || now.seconds(since: last.time) < StateRequests.pause { continue }
            }
            guard budget.spend(at: now) else { break }
            asked[device.id] = Request(time: now, count: (last?.count ?? 0) + 1)
            due.append(device.id)
        }
        return due
    }

    private func isMissing(_ device: FleetBoard, _ model: FleetModel) -> Bool {
        guard device.isOnline == true else { return false }
        return model.onlyDevice == nil ? device.state == nil : device.attitude == nil
    }
}
