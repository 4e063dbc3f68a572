internal import MotionCore

/// Samples through the ring between the threads, in batches of the sensor thread's size.
///
/// `Ring.swift` in this directory is a symbolic link to MotionKit's file: the ring is internal there, and specialised
/// for its elements.
struct RingWork: StageWork, ~Copyable {
    private static let batch = 4

    private var samples: SampleLoop
    private let ring = Ring<MotionSample>(capacity: 4096)
    var events: Int { 0 }

    init(_ recording: Recording) {
        samples = SampleLoop(recording)
    }

    mutating func run(_ count: Int) -> Int {
        var done = 0
        while done < count {
            for _ in 0..<RingWork.batch { ring.push(samples.next()) }
            while let sample = ring.pop() {
                keep(sample)
                done += 1
            }
        }
        return done
    }
}
