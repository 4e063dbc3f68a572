internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// Packs samples into messages. It sends nothing and has no clock.
///
/// The samples of a message are evenly spaced: a missing sample ends the message.
struct SampleStream {
    /// The quantities published for each sample.
    struct Fields: OptionSet {
        let rawValue: Int

        static let acceleration = Fields(rawValue: 1)
        static let rotation = Fields(rawValue: 2)
        static let attitude = Fields(rawValue: 4)
    }

    /// The content of one message.
    struct Batch {
        /// The message's number. Messages that cannot be sent are counted too.
        var sequence: UInt64
        /// The first sample's number since the start of the stream, and the difference between the numbers of
        /// successive samples.
        var first: UInt64
        var step: UInt64
        var samples: [MeasuredSample]
        let fields: Fields
    }

    /// The default time that one message covers, s, and the maximum number of samples in it.
    static let defaultInterval = 0.1
    static let maximumSamples = 128

    let fields: Fields

    /// Every `step`-th sample is published.
    let step: UInt64
    /// The nominal time between two samples of a message, s.
    private let nominalPeriod: Double
    /// The number of samples in a full message.
    private let capacity: Int
    private var sequence: UInt64 = 0
    private var origin: UInt64?
    private var next: UInt64 = 0
    private var waiting: [MeasuredSample] = []

    /// Creates a stream of samples that arrive at `sensorRate`, Hz, and publishes at most `rate` of them per second.
    /// A message covers `interval`, s.
    init(fields: Fields, rate: Double?, interval: Double = defaultInterval, sensorRate: Double) {
        self.fields = fields
        // The tolerance prevents a rounding error in equal rates from increasing the step.
        step = rate.map { UInt64(max(1, min((sensorRate / $0 - 1e-6).rounded(.up), 1e9))) } ?? 1
        nominalPeriod = Double(step) / sensorRate
        let count = (interval / nominalPeriod + 1e-6).rounded(.down)
        capacity = max(1, min(SampleStream.maximumSamples, Int(count)))
        waiting.reserveCapacity(capacity)
    }

    /// Adds a sample. Passes the message to `emit` if the sample completes it.
    mutating func append(_ sample: MeasuredSample, emit: (Batch) -> Void) {
        guard sample.number >= next else { return }
        let start = origin ?? sample.number
        origin = start
        if let last = waiting.last, isGap(from: last, to: sample) { flush(emit) }
        waiting.append(sample)
        next = sample.number + step
        if waiting.count >= capacity { flush(emit) }
    }

    /// Passes the incomplete message, if there is one, to `emit`.
    mutating func flush(_ emit: (Batch) -> Void) {
        guard let first = waiting.first, let origin else { return }
        emit(
            Batch(
                sequence: sequence, first: first.number - origin, step: step, samples: waiting, fields: fields))
        sequence += 1
        waiting.removeAll(keepingCapacity: true)
    }

    /// Whether samples are missing between two samples: one that was dropped on its way here, or several that the
    /// sensor lost.
    private func isGap(from last: MeasuredSample, to sample: MeasuredSample) -> Bool {
        if sample.number - last.number != step { return true }
        // One sample alone does not tell the period. A chip's own is within 15 % of the nominal one.
        let period =
            waiting.count > 1
            ? last.timestamp.seconds(since: waiting[0].timestamp) / Double(waiting.count - 1) : nominalPeriod
        return sample.timestamp.seconds(since: last.timestamp) > 1.5 * period
    }
}

extension SampleStream.Batch {
    /// The mean interval between samples, s; zero if there is only one.
    var period: Double {
        guard let first = samples.first, let last = samples.last, samples.count > 1 else { return 0 }
        return last.timestamp.seconds(since: first.timestamp) / Double(samples.count - 1)
    }

    /// The message's payload; `time` is when the first sample was measured, milliseconds since 1970.
    func payload(at time: Double) -> JSONObject {
        var object = JSONObject()
        object.add("seq", Int64(clamping: sequence))
        object.add("n", Int64(clamping: first))
        if step > 1 { object.add("every", Int64(clamping: step)) }
        object.add("t", time, decimals: 3)
        if samples.count > 1 { object.add("period", period, decimals: 7) }
        if fields.contains(.acceleration) { object.add("acceleration", samples.map(\.acceleration), decimals: 4) }
        if fields.contains(.rotation) {
            object.add("rotation", samples.map { $0.rotationRate * degreesPerRadian }, decimals: 3)
        }
        if fields.contains(.attitude) {
            object.add(
                "attitude", samples.map { [$0.attitude.w, $0.attitude.x, $0.attitude.y, $0.attitude.z] }, decimals: 6)
        }
        return object
    }
}
