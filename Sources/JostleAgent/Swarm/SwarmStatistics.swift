package import JostleMessages

/// The figures of a swarm at one moment.
package struct SwarmStatistics: Sendable {
    /// Boards, and of these the ones that an order has stopped.
    package let boards: Int
    package let stopped: Int
    /// Seconds since the start, and from the start until all boards were online for the first time.
    package let uptime: Double
    package let onlineAfter: Double?
    /// The boards in each group, in the order of the option; none without groups.
    let groups: [(name: String, boards: Int)]
    let counts: SwarmCounts
    let writes: SwarmStorage.Statistics
    /// This process: bytes, s.
    let residentMemory: Int
    let processorTime: Double
    /// Milliseconds since 1970.
    let time: Int64

    package var online: Int { counts.online }
    package var reported: Int { counts.reported }
    package var deaths: Int { counts.deaths }
    package var sent: Int { counts.sent }
    package var received: Int { counts.received }

    /// The figures as JSON; with `details` also the times of reconnections and writes, and the groups.
    package func json(details: Bool) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("uptime", uptime, decimals: 2)
        object.add("boards", Int64(boards))
        object.add("stopped", Int64(stopped))
        object.add("running", Int64(counts.running))
        object.add("online", Int64(counts.online))
        object.add("reported", Int64(counts.reported))
        object.add("online_after", onlineAfter, decimals: 3)
        object.add("starts", Int64(counts.starts))
        object.add("deaths", Int64(counts.deaths))
        object.add("lost_stores", Int64(counts.lostStores))
        object.add("connects", Int64(counts.connects))
        object.add("reconnects", Int64(counts.reconnections.count))
        object.add("connection_losses", Int64(counts.losses))
        object.add("connection_failures", Int64(counts.failures))
        object.add("last_failure", counts.lastFailure)
        object.add("sent", Int64(counts.sent))
        object.add("received", Int64(counts.received))
        object.add("bytes_sent", Int64(counts.bytesSent))
        object.add("bytes_received", Int64(counts.bytesReceived))
        object.add("reports", Int64(counts.reports))
        object.add("shakes", Int64(counts.shakes))
        object.add("commands", Int64(counts.commands))
        object.add("writes", Int64(writes.times.count))
        object.add("write_seconds", writes.times.sum, decimals: 3)
        object.add("write_median_seconds", writes.times.quantile(0.5), decimals: 5)
        object.add("storage_faults", Int64(writes.faults))
        object.add("memory_mb", Double(residentMemory) / 1_048_576, decimals: 1)
        object.add("cpu_seconds", processorTime, decimals: 2)
        guard details else { return object }
        object.add("reconnect_seconds", counts.reconnections.json)
        object.add("write_times", writes.times.json)
        var members = JSONObject()
        for group in groups { members.add(group.name, Int64(group.boards)) }
        if !groups.isEmpty { object.add("groups", members) }
        return object
    }
}
