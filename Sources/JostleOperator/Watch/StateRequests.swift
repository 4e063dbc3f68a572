package import MotionCore

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
    package mutating func due(_ model: WatchModel, at now: Timestamp) -> [String] {
        asked = asked.filter { model.devices[$0.key]?.isOnline == true }
        var due: [String] = []
        for device in model.devices.values.sorted(by: { $0.id < $1.id }) where isMissing(device, model) {
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

    private func isMissing(_ device: WatchedDevice, _ model: WatchModel) -> Bool {
        guard device.isOnline == true else { return false }
        return model.onlyDevice == nil ? device.state == nil : device.attitude == nil
    }
}
