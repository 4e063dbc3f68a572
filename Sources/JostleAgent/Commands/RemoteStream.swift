internal import JostleConfiguration
internal import JostleMessages
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// `stream`: every sample over MQTT, for a while.
struct RemoteStream: RemoteCommand, Equatable {
    static let command = JostleSettings.Command.stream
    static let argumentNames = ["duration", "rate", "fields", "stop"]

    /// How long it may last, s.
    static let durations = 1.0...3600.0
    private static let rates = 1.0...1000.0
    private static let names: KeyValuePairs<String, SampleStream.Fields> = [
        "acceleration": .acceleration, "rotation": .rotation, "attitude": .attitude,
    ]

    /// How long it is to last, s; `nil` to end it.
    let duration: Double?
    /// Samples a second at most, Hz; `nil` for all.
    let rate: Double?
    let fields: SampleStream.Fields

    init(_ arguments: CommandArguments) throws(CommandRefusal) {
        duration = try arguments.duration("duration", within: RemoteStream.durations, default: 60)
        rate = try arguments.number("rate")
        if let rate, !RemoteStream.rates.contains(rate) {
            throw CommandRefusal(.badArguments, "a rate of \(rate) Hz is not possible; 1.0 to 1000.0 Hz are")
        }
        var fields: SampleStream.Fields = []
        for name in try arguments.texts("fields") ?? ["acceleration", "rotation"] {
            guard let field = RemoteStream.names.first(where: { $0.key == name })?.value else {
                let known = CommandArguments.list(RemoteStream.names.map(\.key))
                throw CommandRefusal(.badArguments, "there is no field \"\(name.prefix(64))\"; there are \(known)")
            }
            fields.insert(field)
        }
        if fields.isEmpty { throw CommandRefusal(.badArguments, "fields is empty: nothing would be told") }
        self.fields = fields
    }

    func carryOut(on host: CommandHost, _ reply: CommandReply) throws(CommandRefusal) -> JSONObject? {
        guard let duration else { return JSONObject(stopped: host.end(RemoteStream.name)) }
        try host.requireIdle(RemoteStream.name)
        try host.requireSamples()
        guard let info = host.manager.sensorInfo else {
            throw CommandRefusal(.sensorUnavailable, "the sensor is not read any more")
        }
        let stream = SampleStream(fields: fields, rate: rate, sensorRate: info.nominalRate)
        host.begin(Streaming(stream, duration: duration, host, reply), of: RemoteStream.name)
        var answer = JSONObject()
        answer.add("duration", duration, decimals: 1)
        answer.add("rate", info.nominalRate / Double(stream.step), decimals: 3)
        answer.add("fields", RemoteStream.names.filter { fields.contains($0.value) }.map(\.key))
        answer.add("done", false)
        return answer
    }
}

/// A stream under way: messages are made and handed over on the delivery thread.
private final class Streaming: CommandJob {
    /// Messages that wait for the network, of all kinds, beyond which those of a stream are left out: events come first.
    private static let mostWaiting = 200

    private struct State {
        var stream: SampleStream
        var hasEnded = false
        var messages: UInt64 = 0
        var refused: UInt64 = 0
        var samples: UInt64 = 0
    }

    private final class Shared: Sendable {
        let state: Mutex<State>
        let outlet: StreamOutlet

        init(_ state: State, _ outlet: StreamOutlet) {
            self.state = Mutex(state)
            self.outlet = outlet
        }

        func take(_ samples: [MeasuredSample]) {
            state.withLock { state in
                guard !state.hasEnded else { return }
                var stream = state.stream
                for sample in samples { stream.take(sample) { send($0, &state) } }
                state.stream = stream
            }
        }

        /// Hands a message over; one that nobody takes leaves a gap in the numbers.
        func send(_ batch: SampleStream.Batch, _ state: inout State) {
            let time = batch.samples.first.map { Double(WallClock.microseconds(at: $0.timestamp)) / 1000 } ?? 0
            let message = MQTTMessage(topic: outlet.topic, payload: batch.payload(at: time).bytes, qos: .atMostOnce)
            if outlet.backlog() <= Streaming.mostWaiting, outlet.send(message) {
                state.messages += 1
                state.samples += UInt64(batch.samples.count)
            } else {
                state.refused += 1
            }
        }

        /// Sends what waits; nothing follows. Returns what became of all.
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
    private let finish: Timestamp
    private let shared: Shared
    private let token: HandlerToken
    private let reply: CommandReply

    init(_ stream: SampleStream, duration: Double, _ host: CommandHost, _ reply: CommandReply) {
        let shared = Shared(State(stream: stream), host.outlet)
        self.shared = shared
        self.reply = reply
        finish = WallClock.monotonic.advanced(bySeconds: duration)
        token = host.manager.addMeasuredSampleHandler { shared.take($0) }
    }

    deinit {
        token.remove()
    }

    var deadline: Timestamp? { finish }

    func advance(to now: Timestamp) { end("time") }
    func end() { end("stopped") }

    private func end(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        token.remove()
        let figures = shared.finish()
        var answer = JSONObject()
        answer.add("messages", Int64(clamping: figures.messages))
        answer.add("refused", Int64(clamping: figures.refused))
        answer.add("samples", Int64(clamping: figures.samples))
        answer.add("end", reason)
        answer.add("done", true)
        reply.send(answer)
    }
}

/// Where a stream's messages go: from the delivery thread straight to the client, which any thread may call.
struct StreamOutlet: Sendable {
    let topic: String
    /// Publishes a message; returns false if the client does not take it now.
    let send: @Sendable (MQTTMessage) -> Bool
    /// Messages that wait for the network.
    let backlog: @Sendable () -> Int
}
