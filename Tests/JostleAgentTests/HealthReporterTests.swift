import Documents
import Foundation
import IMUDrivers
import JostleMessages
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: a health report comes when it is due and names what needs attention.
@Suite struct HealthReporterTests {
    private func clocks(_ seconds: Double) -> ClockReading {
        ClockReading(
            boot: "a", monotonic: Timestamp(seconds: seconds),
            wall: Int64(seconds * 1000), isSet: true)
    }

    private func reporter(interval: Double = 60) -> HealthReporter {
        HealthReporter(version: "1.2.3", interval: interval, processorTime: 0, at: clocks(100))
    }

    private func object(_ report: JSONObject) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(report.bytes)) as? [String: Any])
    }

    @Test func reportsAtIntervalsAndSoonAfterEvents() {
        var health = reporter()
        #expect(health.nextReport == Timestamp(seconds: 105))
        _ = health.report(HealthFacts(), at: clocks(105))
        #expect(health.nextReport == Timestamp(seconds: 165))
        health.makeDue(at: Timestamp(seconds: 110))
        health.makeDue(at: Timestamp(seconds: 110.5))
        #expect(health.nextReport == Timestamp(seconds: 111))
        health.changeInterval(10, at: Timestamp(seconds: 110))
        _ = health.report(HealthFacts(), at: clocks(111))
        #expect(health.nextReport == Timestamp(seconds: 121))
        health.changeInterval(0, at: Timestamp(seconds: 112))
        #expect(health.nextReport == nil)
    }

    @Test func namesProblems() {
        var facts = HealthFacts()
        facts.status.state = .streaming
        #expect(facts.problems(hasTime: true, outboxFails: false).isEmpty)
        facts.gravity = GravityCheck.finding(driving: "ADXL345", atRest: 0.08 * standardGravity)
        #expect(facts.problems(hasTime: true, outboxFails: false) == ["sensor_scale", "chip"])
        facts.gravity = nil
        facts.status.state = .recovering
        facts.storageFaults = ["/state/x: No space left on device"]
        #expect(facts.problems(hasTime: false, outboxFails: true) == ["sensor", "clock", "outbox", "storage"])
    }

    @Test func tellsWhatTheSensorCannotDo() throws {
        var health = reporter()
        var facts = HealthFacts()
        let first = try object(health.report(facts, at: clocks(105)))
        #expect(first["sensor_notes"] == nil && first["period_measured"] as? Bool == false)
        facts.sensorNotes = ["sensor.rate: the BMI160 provides 800 Hz instead of 1000 Hz"]
        facts.status.isPeriodMeasured = true
        let second = try object(health.report(facts, at: clocks(110)))
        #expect(second["sensor_notes"] as? [String] == facts.sensorNotes)
        #expect(second["period_measured"] as? Bool == true)
    }

    @Test func saysHowFarAttitudeMayBeOff() throws {
        var health = reporter()
        var facts = HealthFacts()
        let unknown = try object(health.report(facts, at: clocks(105)))
        #expect(unknown["tilt_deviation"] == nil && unknown["heading_deviation"] == nil)
        facts.tiltDeviation = 0.74
        facts.headingDeviation = 12.02
        let known = try object(health.report(facts, at: clocks(110)))
        #expect(known["tilt_deviation"] as? Double == 0.7 && known["heading_deviation"] as? Double == 12)
    }

    @Test func namesWhatTheBrokerRefuses() throws {
        var health = reporter()
        var facts = HealthFacts()
        facts.isStopped = true
        facts.connectionFaults = (1...12).map { "fault \($0)" }
        let first = try object(health.report(facts, at: clocks(105)))
        #expect(first["problems"] as? [String] == ["mqtt"])
        #expect(first["mqtt_faults"] as? [String] == (1...10).map { "fault \($0)" })
        facts.connectionFaults = []
        let second = try object(health.report(facts, at: clocks(165)))
        #expect(second["problems"] as? [String] == [] && second["mqtt_faults"] == nil)
    }

    /// A stall that ended before the report is still in it.
    @Test func reportsStallSinceLastReport() throws {
        var health = reporter()
        var facts = HealthFacts()
        facts.isStopped = true
        facts.outbox.sentUnstored = 3
        let first = try object(health.report(facts, at: clocks(105)))
        #expect(first["problems"] as? [String] == ["outbox"] && first["outbox_sent_unstored"] as? Int == 3)
        let second = try object(health.report(facts, at: clocks(165)))
        #expect(second["problems"] as? [String] == [] && second["problem"] as? Bool == false)
    }

    @Test func namesFilesThatCannotBeWritten() throws {
        var health = reporter()
        var facts = HealthFacts()
        facts.isStopped = true
        #expect(try object(health.report(facts, at: clocks(105)))["storage_faults"] == nil)
        facts.storageFaults = ["/state/x: No space left on device"]
        let report = try object(health.report(facts, at: clocks(110)))
        #expect(report["problems"] as? [String] == ["storage"])
        #expect(report["storage_faults"] as? [String] == facts.storageFaults)
    }

    @Test func ratesCoverTimeSinceLastReport() throws {
        var health = reporter()
        var facts = HealthFacts()
        facts.status.samples = 1000
        facts.processorTime = 1
        _ = health.report(facts, at: clocks(105))
        facts.status.samples = 3000
        facts.processorTime = 1.5
        let report = try object(health.report(facts, at: clocks(115)))
        #expect(report["rate"] as? Double == 200 && report["cpu_percent"] as? Double == 5)
        #expect(report["uptime"] as? Int == 15 && report["version"] as? String == "1.2.3")
        // A restarted sensor thread counts from zero.
        facts.status.samples = 10
        #expect(try object(health.report(facts, at: clocks(125)))["rate"] as? Double == 0)
    }
}
