internal import MotionCore

/// Samples into the memory of the last seconds, in batches of the sensor thread's size. Making the samples is left out.
///
/// `NewestValues.swift` in this directory is a symbolic link to MotionKit's file, as `Ring.swift` is.
struct MemoryWork: StageWork, ~Copyable {
    private var batch = SampleBatch(capacity: 128)
    /// 30 s at 200 Hz.
    private let memory = NewestValues<MotionSample>(capacity: 7475)
    var events: Int { 0 }

    init(_ recording: Recording) {
        for sample in recording.samples.prefix(4) { batch.append(sample) }
    }

    mutating func run(_ count: Int) -> Int {
        var done = 0
        while done < count {
            batch.withSamples { memory.append($0) }
            done += batch.count
        }
        return done
    }
}
