import BrokerTestSupport
import Foundation
import IMUDrivers
import LinuxSensors
import MotionCore
import Testing

@testable import MotionKit

/// The selection of a sensor, and the errors if there is none.
@Suite struct SensorSelectionTests {
    private func failure(opening selection: SensorSelection) -> SensorError? {
        do throws(SensorError) {
            _ = try selection.open(IMUSettings())
            return nil
        } catch {
            return error
        }
    }

    @Test func unknownTrajectoryErrorListsKnownOnes() throws {
        let error = try #require(failure(opening: .virtual("shkae")))
        guard case .unknownTrajectory("shkae", let known) = error else { throw Unexpected(error) }
        #expect(known == SensorSelection.trajectories.map(\.name))
        #expect("\(error)".contains("\"shkae\""))
        for name in ["rest", "demo", "shake", "slow-turn"] { #expect("\(error)".contains(name)) }
        #expect(!error.isPermission)
    }

    @Test func opensEveryTrajectory() throws {
        for (name, summary) in SensorSelection.trajectories {
            let device = try SensorSelection.virtual(name).open(IMUSettings())
            #expect(device.isSimulated)
            #expect(device.title.contains(name))
            #expect(!summary.isEmpty)
        }
    }

    /// The virtual sensor plays a recording in a loop.
    @Test func playsRecordingInLoop() throws {
        let file = try TemporaryFile("t_s,ax,ay,az,gx,gy,gz\n5,1,2,9,0.1,0.2,0.3\n6,3,2,9,0.1,0.2,0.3\n")
        let trajectory = try SensorSelection.trajectory(file.path)
        #expect(trajectory.duration == .infinity)
        #expect(trajectory.motion(at: 0).specificForce == Vector3(1, 2, 9))
        #expect((trajectory.motion(at: 0.5).specificForce - Vector3(2, 2, 9)).length < 1e-9)
        #expect((trajectory.motion(at: 2.5).specificForce - Vector3(2, 2, 9)).length < 1e-9)
        #expect((trajectory.motion(at: 0.5).rotationRate - Vector3(0.1, 0.2, 0.3)).length < 1e-9)
        let device = try SensorSelection.virtual(file.path).open(IMUSettings())
        #expect(device.isSimulated)
        #expect(device.title.contains(file.path))
    }

    @Test func reportsLineOfMalformedRecording() throws {
        let file = try TemporaryFile("t_s,ax,ay,az,gx,gy,gz\n0,1,2,9,0,0,0\n1,1,2\n")
        let error = try #require(failure(opening: .virtual(file.path)))
        guard case .recording(.malformed(file.path, line: 3, _)) = error else { throw Unexpected(error) }
        #expect("\(error)".contains("\(file.path):3: "))
    }

    /// All samples are kept, in the memory that systemd lets the service use.
    @Test func refusesRecordingThatDoesNotFitIntoMemory() throws {
        var text = "t_s,ax,ay,az,gx,gy,gz\n"
        for row in 0...250_000 { text += "\(row),0,0,9,,,\n" }
        let file = try TemporaryFile(text)
        let error = try #require(failure(opening: .virtual(file.path)))
        guard case .recording(.malformed(file.path, line: 250_002, _)) = error else { throw Unexpected(error) }
        #expect("\(error)".contains("more than 250000 samples"), "\(error)")
        #expect(MemoryLayout<MotionSample>.stride == 72 && MemoryLayout<Quaternion>.stride == 32)
    }

    /// A FIFO without a writer would block the start, and a device may never end.
    @Test func refusesRecordingThatIsNoRegularFile() throws {
        let fifo = try TemporaryFile()
        try #require(mkfifo(fifo.path, 0o600) == 0)
        for path in ["/dev/zero", fifo.path] {
            let error = try #require(failure(opening: .virtual(path)))
            guard case .recording(.system(path, .notRegularFile)) = error else {
                // Not the FIFO after the device was read.
                throw error
            }
        }
    }

    @Test func reportsMissingRecording() throws {
        let error = try #require(failure(opening: .virtual("recordings/missing.csv")))
        guard case .recording(.system("recordings/missing.csv", let failure)) = error, failure.code == ENOENT else {
            throw Unexpected(error)
        }
    }

    /// Without I2C, the error says how to enable it.
    @Test(.enabled(if: I2CBus.all().isEmpty, "this machine has I2C buses"))
    func advisesToEnableI2CWithoutBuses() throws {
        let scan = SensorScan()
        #expect(scan.buses.isEmpty)
        #expect(scan.choice == nil)
        let error = try #require(failure(opening: .automatic))
        guard case .notFound = error else { throw Unexpected(error) }
        #expect("\(error)".contains("raspi-config"))
        #expect("\(error)".contains("modprobe i2c-dev"))
        #expect(!error.isPermission)
    }

    @Test func errorNamesMissingBus() throws {
        let error = try #require(failure(opening: .mpu6050(bus: "/dev/i2c-98765", address: 0x69)))
        guard case .notFound(let scan) = error else { throw Unexpected(error) }
        #expect(scan.buses.map(\.path) == ["/dev/i2c-98765"])
        #expect(scan.buses.first?.failure?.reason == .cannotOpen)
        #expect("\(error)".contains("/dev/i2c-98765"))
        #expect("\(error)".contains("modprobe i2c-dev"))
    }

    @Test func formatsByteAsHexadecimal() {
        #expect(hexadecimal(0x68) == "0x68")
        #expect(hexadecimal(0x0A) == "0x0A")
        #expect(hexadecimal(0xFF) == "0xFF")
    }
}
