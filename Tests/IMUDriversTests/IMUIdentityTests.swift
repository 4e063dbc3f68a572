import IMUDrivers
import MotionTestSupport
import Testing

/// Requirement: the scanner names what it finds without disturbing it.
@Suite struct IMUIdentityTests {
    @Test(
        "One register is read, and the part named",
        arguments: [
            (0x68, "MPU-6050", true), (0x70, "MPU-6500", false), (0x98, "ICM-20689", false),
            (0x47, "ICM-42688-P", false),
        ]
            as [(UInt8, String, Bool)])
    func known(byte: UInt8, name: String, isSupported: Bool) throws {
        let script = BusScript()
        var bus = ScriptedBus(script)
        script.read(0x75, byte)
        let identity = try IMUIdentity.probe(&bus)
        #expect(identity.identity == byte)
        #expect(identity.name.map { "\($0)" } == name)
        #expect(identity.isSupported == isSupported)
    }

    @Test("An unknown number has no name, and silence is an error")
    func unknown() throws {
        let script = BusScript()
        var bus = ScriptedBus(script)
        script.read(0x75, 0x00)
        #expect(try IMUIdentity.probe(&bus).name == nil)
        script.read(0x75, failing: BusError(.notAcknowledged))
        var failure: BusError?
        do throws(BusError) {
            _ = try IMUIdentity.probe(&bus)
        } catch {
            failure = error
        }
        #expect(failure == BusError(.notAcknowledged))
    }
}
