internal import JostleMessages

/// Asks boards for every sample while somebody looks, by the command `stream` for half a minute, renewed in time.
///
/// A value without a clock: `due` returns what to ask now.
struct StreamLeases {
    /// Seconds for which a board is asked, and after which it is asked again.
    private static let duration = 30.0
    private static let renewal = 20.0
    /// Seconds after which a board is asked again that streams for somebody else, or has refused.
    private static let pauses = (busy: 10.0, refused: 60.0)

    /// How much an agent understands: an older one refuses arguments that it does not know.
    private enum Arguments { case all, basic }

    private struct Lease {
        var viewers = 0
        var next: Double
        var arguments = Arguments.all
    }

    private var leases: [String: Lease] = [:]

    /// Somebody looks at a board.
    mutating func open(_ id: String, at now: Double) {
        leases[id, default: Lease(next: now)].viewers += 1
    }

    /// Somebody looks no more. What was asked for ends by itself.
    mutating func close(_ id: String) {
        leases[id]?.viewers -= 1
        if leases[id].map({ $0.viewers <= 0 }) ?? false { leases[id] = nil }
    }

    /// The board has come online: its agent knows of no stream.
    mutating func restart(_ id: String, at now: Double) { leases[id]?.next = now }

    /// The boards to ask now, with the arguments of the command.
    mutating func due(at now: Double, isOnline: (String) -> Bool) -> [(id: String, arguments: JSONObject)] {
        var due: [(id: String, arguments: JSONObject)] = []
        for (id, lease) in leases where lease.next <= now && isOnline(id) {
            var arguments = JSONObject()
            arguments.add("duration", StreamLeases.duration, decimals: 0)
            arguments.add("fields", ["acceleration", "rotation", "attitude"])
            if lease.arguments == .all {
                arguments.add("interval", 0.02, decimals: 2)
                arguments.add("near_misses", true)
            }
            leases[id]?.next = now + StreamLeases.renewal
            due.append((id, arguments))
        }
        return due
    }

    /// A board has refused the command.
    mutating func refused(_ id: String, error: String, at now: Double) {
        switch error {
        case "bad_arguments" where leases[id]?.arguments == .all:
            leases[id]?.arguments = .basic
            leases[id]?.next = now
        case "busy": leases[id]?.next = now + StreamLeases.pauses.busy
        case "sensor_unavailable", "too_many": leases[id]?.next = now + StreamLeases.pauses.busy
        default: leases[id]?.next = now + StreamLeases.pauses.refused
        }
    }
}
