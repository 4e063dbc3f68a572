internal import IMUDrivers
internal import MotionCore

/// A reading of a magnetometer of which each axis is measured by itself, and the time for it. It may take several polls.
struct KernelFieldReading: BitwiseCopyable {
    enum Progress: Equatable {
        /// The poll has taken its time: the next axis is to be read in the next one.
        case incomplete
        case complete
        /// The axes are too far apart to be one field.
        case late
    }

    /// The axes that have been read, µT.
    private(set) var field = Vector3.zero
    /// When the last axis ended or failed, and how long it took.
    private(set) var end = Timestamp(nanoseconds: 0)
    private(set) var lastDuration = 0.0
    /// The middle of the first axis.
    private var first = Timestamp(nanoseconds: 0)
    private var axes = 0

    /// Whether there is an axis, and another one is missing.
    var isBegun: Bool { axes > 0 }

    /// From the middle of the first axis to that of the last, s.
    var span: Double { end.seconds(since: first) - 0.5 * lastDuration }

    /// The time of a reading that is complete.
    var time: Timestamp { first.advanced(bySeconds: 0.5 * span) }

    /// Reads what fits in one poll, at least one axis. After a reading that is complete, late or failed, the next call
    /// begins another one.
    mutating func advance(
        _ clock: some MonotonicClock, read: (Int) throws(BusError) -> Double
    ) throws(BusError) -> Progress {
        let begin = clock.now()
        end = begin
        while true {
            let start = end
            let value: Double
            do throws(BusError) {
                value = try read(axes)
            } catch {
                finishAxis(from: start, at: clock.now())
                axes = 0
                throw error
            }
            finishAxis(from: start, at: clock.now())
            switch axes {
            case 0:
                field.x = value
                first = start.advanced(bySeconds: 0.5 * lastDuration)
            case 1: field.y = value
            default: field.z = value
            }
            axes += 1
            if max(span, lastDuration) > KernelMagnetometerTiming.longestReading {
                axes = 0
                return .late
            }
            if axes == 3 {
                axes = 0
                return .complete
            }
            if end.seconds(since: begin) > KernelMagnetometerTiming.longestPoll { return .incomplete }
        }
    }

    private mutating func finishAxis(from start: Timestamp, at now: Timestamp) {
        end = now
        lastDuration = now.seconds(since: start)
    }
}
