internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// `stream`: publishes every sample for a limited time.
struct RemoteStream: RemoteCommand, Equatable {
    /// The allowed durations, s.
    static let durations = 1.0...3600.0
    private static let intervals = 0.01...1.0
    private static let rates = 1.0...1000.0
    private static let names: KeyValuePairs<String, SampleStream.Fields> = [
        "acceleration": .acceleration, "rotation": .rotation, "attitude": .attitude, "field": .field,
    ]

    /// The duration, s; `nil` to stop a stream.
    let duration: Double?
    let content: Content

    /// What is published. A command that asks for the content of the stream under way extends it.
    struct Content: Equatable {
        /// The maximum sample rate, Hz; `nil` for every sample.
        var rate: Double?
        var fields: SampleStream.Fields
        /// The time that one message covers, s.
        var interval: Double
        /// Whether near misses are published meanwhile.
        var hasNearMisses: Bool

        /// The stream's facts for a result, given the rate at which samples are published, Hz.
        fileprivate func result(duration: Double, rate: Double) -> JSONObject {
            var answer = JSONObject()
            answer.add("duration", duration, decimals: 1)
            answer.add("rate", rate, decimals: 3)
            answer.add("fields", RemoteStream.names.filter { fields.contains($0.value) }.map(\.key))
            answer.add("interval", interval, decimals: 3)
            if hasNearMisses { answer.add("near_misses", true) }
            return answer
        }
    }

    init(_ arguments: CommandArguments) throws {
        duration = try arguments.duration("duration", within: RemoteStream.durations, default: 60)
        let rate = try arguments.number("rate")
        if let rate, !RemoteStream.rates.contains(rate) {
            throw CommandRefusal(.badArguments, "rate must be 1.0 to 1000.0 Hz, not \(rate)")
        }
        var fields: SampleStream.Fields = []
        for name in try arguments.strings("fields") ?? ["acceleration", "rotation"] {
            guard let field = RemoteStream.names.first(where: { $0.key == name })?.value else {
                let known = CommandArguments.list(RemoteStream.names.map(\.key))
                throw CommandRefusal(.badArguments, "there is no field \"\(name.prefix(64))\"; the fields are \(known)")
            }
            fields.insert(field)
        }
        if fields.isEmpty { throw CommandRefusal(.badArguments, "fields must not be empty") }
        let interval = try arguments.number("interval") ?? SampleStream.defaultInterval
        guard RemoteStream.intervals.contains(interval) else {
            let bounds = RemoteStream.intervals
            throw CommandRefusal(
                .badArguments, "interval must be \(bounds.lowerBound) to \(bounds.upperBound) s, not \(interval)")
        }
        content = Content(
            rate: rate, fields: fields, interval: interval, hasNearMisses: try arguments.bool("near_misses") ?? false)
    }

    /// An extension: a viewer that stays renews its stream every few seconds, for hours.
    func isRepetition(on host: CommandHost) -> Bool { duration != nil && current(on: host) != nil }

    /// The stream under way, if it has the same content.
    private func current(on host: CommandHost) -> Streaming? {
        let streaming = host.job(.stream) as? Streaming
        return streaming?.content == content ? streaming : nil
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws -> JSONObject? {
        guard let duration else { return host.stop(.stream) }
        if let streaming = current(on: host) {
            streaming.extend(to: WallClock.monotonic.advanced(bySeconds: duration))
            var answer = content.result(duration: duration, rate: streaming.rate)
            answer.add("extended", true)
            return answer
        }
        try host.requireIdle(.stream)
        try host.requireSamples()
        guard let info = host.manager.sensorInfo else {
            throw CommandRefusal(.sensorUnavailable, "the sensor is no longer being read")
        }
        let streaming = Streaming(content, sensorRate: info.nominalRate, duration: duration, host, reply)
        host.begin(streaming, of: .stream)
        var answer = content.result(duration: duration, rate: streaming.rate)
        answer.add("done", false)
        return answer
    }
}

/// A stream in progress. The delivery thread builds the messages and passes them to the client.
private final class Streaming: CommandJob {
    private struct State {
        var stream: SampleStream
        var hasEnded = false
        var messages: UInt64 = 0
        var refused: UInt64 = 0
        var samples: UInt64 = 0
    }

    private final class Shared: Sendable {
        let state: Mutex<State>
        let output: StreamOutput

        init(_ state: State, _ output: StreamOutput) {
            self.state = Mutex(state)
            self.output = output
        }

        func take(_ samples: [MeasuredSample]) {
            state.withLock { state in
                guard !state.hasEnded else { return }
                var stream = state.stream
                for sample in samples { stream.append(sample) { send($0, &state) } }
                state.stream = stream
            }
        }

        func take(_ fields: [MagneticSample]) {
            state.withLock { state in
                if !state.hasEnded { state.stream.append(fields.map(\.field)) }
            }
        }

        /// Publishes a message. If it cannot be published, the sequence numbers show a gap.
        func send(_ batch: SampleStream.Batch, _ state: inout State) {
            let time = batch.samples.first.map { Double(WallClock.microseconds(at: $0.timestamp)) / 1000 } ?? 0
            if output.publish(batch.payload(at: time).bytes) {
                state.messages += 1
                state.samples += UInt64(batch.samples.count)
            } else {
                state.refused += 1
            }
        }

        /// Sends the remaining samples, ends the stream and returns its totals.
        func finish() -> (messages: UInt64, refused: UInt64, samples: UInt64) {
            state.withLock { state in
                var stream = state.stream
                stream.flush { send($0, &state) }
                state.stream = stream
                state.hasEnded = true
                return (state.messages, state.refused, state.samples)
            }
        }
    }

    let needsSensor = true
    private(set) var isOver = false
    let content: RemoteStream.Content
    /// The rate at which samples are published, Hz.
    let rate: Double
    private var finish: Timestamp
    private let shared: Shared
    private let tokens: [HandlerToken]
    private let nearMisses: NearMissPublisher
    private let reply: CommandReply

    init(
        _ content: RemoteStream.Content, sensorRate: Double, duration: Double, _ host: CommandHost,
        _ reply: CommandReply
    ) {
        let stream = SampleStream(
            fields: content.fields, rate: content.rate, interval: content.interval, sensorRate: sensorRate)
        let shared = Shared(State(stream: stream), host.output)
        self.content = content
        self.shared = shared
        self.reply = reply
        rate = sensorRate / Double(stream.step)
        finish = WallClock.monotonic.advanced(bySeconds: duration)
        nearMisses = host.nearMisses
        nearMisses.set(.stream, to: content.hasNearMisses)
        var tokens = [host.manager.addMeasuredSampleHandler { shared.take($0) }]
        if content.fields.contains(.field) {
            tokens.append(host.manager.addMeasuredFieldHandler { shared.take($0) })
        }
        self.tokens = tokens
    }

    deinit {
        stopTaking()
    }

    private func stopTaking() {
        for token in tokens { token.remove() }
    }

    var deadline: Timestamp? { finish }

    /// Ends the stream at `time`, unless it lasts longer anyway.
    func extend(to time: Timestamp) { finish = max(finish, time) }

    func advance(to now: Timestamp) { end("time") }
    func end() { end("stopped") }

    private func end(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        stopTaking()
        nearMisses.set(.stream, to: false)
        let totals = shared.finish()
        var answer = JSONObject()
        answer.add("messages", Int64(clamping: totals.messages))
        answer.add("refused", Int64(clamping: totals.refused))
        answer.add("samples", Int64(clamping: totals.samples))
        answer.add("end", reason)
        answer.add("done", true)
        reply.send(answer)
    }
}

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
        static let field = Fields(rawValue: 8)
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
        /// The readings of the magnetometer since the message before, µT. They have a rate of their own.
        var magneticFields: [Vector3]
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
    private var magneticFields: [Vector3] = []

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

    /// Adds readings of the magnetometer to the message that comes next. They arrive before the samples of their time.
    mutating func append(_ readings: [Vector3]) {
        magneticFields += readings.prefix(SampleStream.maximumSamples - magneticFields.count)
    }

    /// Passes the incomplete message, if there is one, to `emit`.
    mutating func flush(_ emit: (Batch) -> Void) {
        guard let first = waiting.first, let origin else { return }
        emit(
            Batch(
                sequence: sequence, first: first.number - origin, step: step, samples: waiting,
                magneticFields: magneticFields, fields: fields))
        sequence += 1
        magneticFields.removeAll(keepingCapacity: true)
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
        if fields.contains(.field), !magneticFields.isEmpty { object.add("field", magneticFields, decimals: 2) }
        return object
    }
}
