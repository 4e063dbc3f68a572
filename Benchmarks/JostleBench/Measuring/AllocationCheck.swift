/// Checks that nothing is allocated between the FIFO's bytes and the event.
struct AllocationCheck {
    /// The result of one stage for the checked samples.
    struct Finding {
        let stage: Stage
        let samples: Int
        let events: Int
        let allocations: UInt64

        /// The fault found; `nil` if there is none.
        var complaint: String? {
            if samples < AllocationCheck.samples { return "produced only \(samples) samples" }
            if stage.recognizesGestures, events == 0 { return "recognised no gesture, so that path was not checked" }
            if allocations > 0 { return "allocated \(allocations) times" }
            return nil
        }
    }

    /// Samples on which each stage is checked: four minutes at 200 Hz, with more than twenty shakes.
    static let samples = 48_000

    let findings: [Finding]

    /// How many of the `controlAllocations` deliberate allocations the counter counted. A counter that does not work
    /// would find no fault.
    let counted: UInt64

    static let controlAllocations = 100

    /// Samples with a clipped axis in the worst-case material. Without any, that path would not have been checked.
    let clippedSamples: Int

    /// Checks every stage that must not allocate.
    ///
    /// The set-up ends with the first sample: for it the chip has been brought up and Swift's runtime has looked up the
    /// driver's type. Everything later, including the first gesture and the first fault, must work without the heap. A
    /// debug build looks up each type once per process, wherever it is first used, and so does the optimiser of Swift
    /// 6.0 in some places. There the set-up ends with the first whole recording.
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

    /// Makes the deliberate allocations, alternately with malloc and posix_memalign, and returns the number that was
    /// counted.
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
