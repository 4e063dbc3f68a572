import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a topic gets at most its rate of messages, none inside the dead band, and at least one per heartbeat.
@Suite struct TelemetryGateTests {
    /// The times in seconds at which messages are sent, for samples at `sampleRate` during `duration`.
    private func sent(
        _ gate: inout TelemetryGate, sampleRate: Double = 200, from start: Double = 1000, for duration: Double,
        hasChanged: (Double) -> Bool = { _ in true }
    ) -> [Double] {
        (0..<Int(duration * sampleRate)).compactMap { index in
            let time = start + Double(index) / sampleRate
            return gate.isDue(at: Timestamp(seconds: time)) { hasChanged(time) } ? time - start : nil
        }
    }

    /// 191 and 207.3 Hz are chips with inaccurate oscillators; 7 and 30 Hz do not divide them.
    @Test(arguments: [200, 191, 207.3, 1000] as [Double], [10, 5, 7, 30, 0.5] as [Double])
    func keepsRate(sampleRate: Double, rate: Double) {
        var gate = TelemetryGate(rate: rate, heartbeat: 30)
        let times = sent(&gate, sampleRate: sampleRate, for: 10)
        #expect(times.first == 0)
        #expect(times.count == Int((10 * rate).rounded()), "\(times.count)")
        // Each is the first sample in its slot.
        for (index, time) in times.enumerated() {
            #expect((0..<1 / sampleRate + 1e-6).contains(time - Double(index) / rate + 1e-7), "\(index): \(time)")
        }
    }

    @Test func sendsEverySampleAtHighRate() {
        var gate = TelemetryGate(rate: 200, heartbeat: 30)
        #expect(sent(&gate, sampleRate: 50, for: 2).count == 100)
    }

    @Test func sendsOnlyHeartbeatInsideDeadBand() {
        var gate = TelemetryGate(rate: 10, heartbeat: 4)
        #expect(sent(&gate, for: 10) { _ in false } == [0, 4, 8])
    }

    @Test func sendsOnlyFirstWithoutHeartbeat() {
        var gate = TelemetryGate(rate: 10, heartbeat: 0)
        #expect(sent(&gate, for: 100) { _ in false } == [0])
    }

    @Test func heartbeatCountsFromLastMessage() {
        var gate = TelemetryGate(rate: 10, heartbeat: 4)
        #expect(sent(&gate, for: 10) { $0 == 1003 } == [0, 3, 7])
    }

    @Test func sendsChangeAtOnceAfterQuiet() {
        var gate = TelemetryGate(rate: 10, heartbeat: 0)
        let change = 1005.035
        let times = sent(&gate, for: 10) { $0 >= change }
        #expect(times.prefix(2) == [0, change - 1000])
        for (earlier, later) in zip(times.dropFirst(), times.dropFirst(2)) { #expect(later - earlier > 0.0999) }
    }

    @Test func doesNotEvaluateWithinInterval() {
        var gate = TelemetryGate(rate: 10, heartbeat: 30)
        var looks = 0
        _ = sent(&gate, for: 1) { _ in
            looks += 1
            return true
        }
        // The first message needs no change.
        #expect(looks == 9)
    }

    @Test func resetMakesNextMessageDue() {
        var gate = TelemetryGate(rate: 10, heartbeat: 0)
        #expect(sent(&gate, for: 1) { _ in false } == [0])
        gate.reset()
        #expect(sent(&gate, from: 1000.01, for: 1) { _ in false } == [0])
    }

    @Test func zeroRateSendsNothing() {
        var gate = TelemetryGate(rate: 0, heartbeat: 1)
        #expect(sent(&gate, for: 10).isEmpty)
        gate.reset()
        #expect(sent(&gate, for: 10).isEmpty)
    }
}
