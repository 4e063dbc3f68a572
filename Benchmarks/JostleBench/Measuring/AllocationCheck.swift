/// Checks that nothing is allocated between the FIFO's bytes and the event.
struct AllocationCheck {
    /// What one stage did in the checked samples.
    struct Finding {
        let stage: Stage
        let samples: Int
        let events: Int
        let allocations: UInt64

        /// What is wrong; `nil` where the stage is as it should be.
        var complaint: String? {
            if samples < AllocationCheck.samples { return "gave only \(samples) samples" }
            if stage.recognizesGestures, events == 0 { return "recognised no gesture, so that path was not checked" }
            if allocations > 0 { return "allocated \(allocations) times" }
            return nil
        }
    }

    /// Samples that each stage is checked on: four minutes at 200 Hz, with twenty shakes and more.
    static let samples = 48_000

    let findings: [Finding]

    /// What the counter counted of `controlAllocations` deliberate ones: one that stands still would find no fault.
    let counted: UInt64

    static let controlAllocations = 100

    /// Samples in the material of the worst case that an axis' range was too small for: without any, that path was not
    /// checked.
    let clippedSamples: Int

    /// Checks every stage that is to allocate nothing.
    ///
    /// The first sample ends the set-up: the chip has been brought up for it, and Swift's runtime has looked up the
    /// driver's type. Everything later, first gesture and first fault included, has to do without the heap. A debug
    /// build looks up a type wherever it is first used, and so does the optimiser of Swift 6.0 here and there, once for each
    /// in a process: there the set-up ends with the first whole recording.
    init(material: Material) {
        counted = Self.countDeliberate()
        clippedSamples = material.clipped.samples.filter { !$0.flags.isDisjoint(with: .clipped) }.count
        #if DEBUG || !compiler(>=6.1)
            let setUpSamples = material.movement.samples.count
        #else
            let setUpSamples = 1
        #endif
        findings = Stage.allCases.filter(\.allocatesNothing).map { stage in
            let runner = stage.setUp(with: material)
            _ = runner.run(setUpSamples)
            let eventsBefore = runner.events
            let repetition = Repetition(of: runner, samples: AllocationCheck.samples)
            return Finding(
                stage: stage, samples: repetition.samples, events: runner.events - eventsBefore,
                allocations: repetition.allocations)
        }
    }

    /// Allocates as often as said, by malloc and by posix_memalign in turn, and returns what was counted of it.
    private static func countDeliberate() -> UInt64 {
        let before = heapAllocations()
        for number in 0..<controlAllocations {
            var memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: number % 2 == 0 ? 8 : 64)
            keep(&memory)
            memory.deallocate()
        }
        return heapAllocations() - before
    }

    var isCounting: Bool { counted == UInt64(Self.controlAllocations) }
    var hasPassed: Bool { isCounting && clippedSamples > 0 && findings.allSatisfy { $0.complaint == nil } }
}
