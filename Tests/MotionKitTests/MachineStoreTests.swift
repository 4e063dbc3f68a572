import BrokerTestSupport
import MotionCore
import StateStorage
import Testing

@testable import MotionKit

/// Requirement: what a board has learnt about its machine outlives the program, and a damaged file is no reason to fail.
@Suite struct MachineStoreTests {
    private var knowledge: MachineKnowledge {
        var knowledge = MachineKnowledge()
        knowledge.seconds[3] = 12.5
        knowledge.seconds[2 * MachineMemory.cells + 7] = 300
        knowledge.experience.count = 12
        knowledge.experience.shortest = 2100
        knowledge.experience.longestPause = 720
        knowledge.experience.peak = 0.57
        knowledge.experience.isConfirmed = true
        knowledge.experience.runningSeconds = 5400
        for band in 0..<VibrationBands.count { knowledge.experience.running[band] = -20 - Float(band) }
        knowledge.experience.gravity = SIMD4(0.25, -0.5, 0.75, 0)
        var speed = MachineSpeeds.Range()
        speed.frequency = 24.5
        speed.runs = 7
        for band in 0..<VibrationBands.count {
            speed.low[band] = -31.25 - Float(band)
            speed.high[band] = -28.5 - Float(band)
        }
        knowledge.experience.speeds[0] = speed
        knowledge.deviation = MachineDeviation(band: 5, decibels: -3.75, since: Timestamp(nanoseconds: 0))
        return knowledge
    }

    @Test func isReadAsItWasWritten() {
        #expect(MachineStore.read(MachineStore.text(of: knowledge)) == knowledge)
        #expect(MachineStore.read(MachineStore.text(of: MachineKnowledge())) == MachineKnowledge())
    }

    @Test func floorIsWhatABandHasNineTenthsOfTheTime() {
        #expect(knowledge.floor(of: 5) == nil)
        #expect(knowledge.floor(of: 2) == MachineMemory.lowest + 7.5 * MachineMemory.step)
        var learnt = knowledge
        learnt.seconds[2 * MachineMemory.cells + 3] = 40
        #expect(learnt.floor(of: 2) == MachineMemory.lowest + 3.5 * MachineMemory.step)
        learnt.seconds[2 * MachineMemory.cells + 3] = 20
        #expect(learnt.floor(of: 2) == MachineMemory.lowest + 7.5 * MachineMemory.step)
    }

    @Test(
        arguments: [
            ("jostle machine 1", "jostle machine 2"), ("\nend\n", "\n"), ("runs 12", "runs x"), ("off 0", "off 12"),
            ("3:12.5", "160:12.5"), ("3:12.5", "3:-1"), ("3:12.5", "3:nan"), ("gravity", "gravitation"),
            ("deviation 5", "deviation 50"), ("speed 24.5", "speed 24.5 1"),
        ])
    func damagedFileIsNotUsed(part: String, instead: String) throws {
        let text = MachineStore.text(of: knowledge)
        let range = try #require(text.range(of: part))
        #expect(MachineStore.read(text.replacingCharacters(in: range, with: instead)) == nil)
    }

    @Test func isWrittenWhenARunHasEndedAndEveryHour() throws {
        let directory = TemporaryDirectory.new()
        let writer = StateWriter()
        let store = MachineStore(stateDirectory: directory.path)
        let saver = MachineSaver(store: store, writer: writer)
        var learnt = MachineKnowledge()
        func save(at seconds: Double) -> MachineKnowledge? {
            saver.save(learnt, at: Timestamp(seconds: seconds))
            writer.flush(within: 5)
            return store.load()
        }
        learnt.seconds[0] = 10
        #expect(save(at: 1) == nil)
        #expect(save(at: 3590) == nil)
        #expect(save(at: 3602)?.seconds[0] == 10)
        learnt.seconds[0] = 20
        #expect(save(at: 3700)?.seconds[0] == 10)
        learnt.experience.count = 1
        #expect(save(at: 3800) == learnt)
        #expect(MachineSaver(store: store, writer: writer).knowledge == learnt)
    }
}
