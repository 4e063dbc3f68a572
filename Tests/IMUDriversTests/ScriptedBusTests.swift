import IMUDrivers
import MotionTestSupport
import Testing

/// Requirement: the scripted bus fails a test on an unexpected and on an unconsumed transaction.
@Suite struct ScriptedBusTests {
    @Test("An unconsumed transaction fails the test")
    func unconsumed() {
        withKnownIssue {
            let script = BusScript()
            script.read(0x75, 0x68)
            _ = ScriptedBus(script)
        }
    }

    @Test(
        "A transaction that is not in the script fails the test once, and throws", arguments: [true, false])
    func unexpected(isEmpty: Bool) {
        let script = BusScript()
        if !isEmpty { script.write(0x6B, 0x01) }
        var bus = ScriptedBus(script)
        var failures = 0
        withKnownIssue {
            do throws(BusError) { try bus.write(0x6B, 0x80) } catch { failures += 1 }
        }
        do throws(BusError) { _ = try bus.read(0x75) } catch { failures += 1 }
        #expect(failures == 2)
        #expect(script.hasFailed)
    }

    @Test("Expected transactions return the scripted results")
    func expected() throws {
        let script = BusScript()
        var bus = ScriptedBus(script, maximumReadLength: 32)
        script.read(0x72, [0x01, 0x02])
        script.write(0x6B, 0x01)
        var bytes: [UInt8] = [0, 0]
        try bytes.withUnsafeMutableBytes { try bus.read(0x72, into: $0) }
        try bus.write(0x6B, 0x01)
        #expect(bytes == [1, 2])
        #expect(script.remaining == 0)
    }
}
