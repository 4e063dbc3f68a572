import BrokerTestSupport
import JostleMessages
import Testing

@testable import jostle_swarm

/// Requirement: the figures of a swarm, which scripts read, do not change.
@Suite struct GoldenSwarmTests {
    private func histogram(_ seconds: [Double]) -> DurationHistogram {
        var histogram = DurationHistogram()
        for value in seconds { histogram.add(value) }
        return histogram
    }

    private func statistics(_ counts: SwarmCounts, groups: [(name: String, boards: Int)], onlineAfter: Double?)
        -> String
    {
        let statistics = SwarmStatistics(
            boards: 50, stopped: 2, uptime: 61.237, onlineAfter: onlineAfter, groups: groups, counts: counts,
            writes: SwarmStorage.Statistics(times: histogram([0.0004, 0.0021, 0.5, 3]), faults: 1),
            residentMemory: 123_456_789, processorTime: 4.5678, time: 1_795_182_603_123)
        return [false, true].map { statistics.json(details: $0).description }.joined(separator: "\n")
    }

    @Test("The figures of a swarm have the recorded form")
    func figures() {
        var counts = SwarmCounts()
        counts.online = 48
        counts.reported = 47
        counts.running = 49
        counts.starts = 60
        counts.deaths = 10
        counts.connects = 61
        counts.losses = 3
        counts.failures = 4
        counts.lastFailure = "Connection \"refused\""
        counts.reconnections = histogram([-1, 0, 0.02, 0.02, 1.5, 40, 1e9])
        counts.sent = 1234
        counts.received = 5678
        counts.bytesSent = 9_876_543
        counts.bytesReceived = 123_456
        counts.reports = 70
        counts.shakes = 8
        counts.commands = 9
        counts.lostStores = 1
        var golden = GoldenText()
        golden.add("at the start", statistics(SwarmCounts(), groups: [], onlineAfter: nil))
        golden.add("later", statistics(counts, groups: [("laundry", 17), ("attic", 16)], onlineAfter: 2.71828))
        expectGolden(golden, "swarm-figures.txt")
    }
}
