import BrokerTestSupport
import Documents
import Foundation
import JostleConfiguration
import JostleMessages
import JostleRuntime
import MosquittoClient
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// A board's settings store with a broker that holds retained messages, a disk, and a clock that the test controls.
struct FleetBench {
    typealias Bench = ParticipantBench<SettingsStore>

    var bench: Bench
    let directory: TemporaryDirectory
    private let loaded: LoadedConfiguration
    private let id: String
    private var boot: String
    private var run = 0
    /// What the broker retains.
    var retained: [String: String] = [:]
    /// Whether writes succeed.
    var hasWorkingDisk = true
    private var writesSeen = 0
    /// Whether samples arrive while the time passes.
    var hasSensor = true

    /// A board that has been connected to a broker with these messages until everything is settled.
    init(
        _ yaml: String = "{}", id: String = "a", retained: [String: String] = [:], boot: String = "boot-1",
        connects: Bool = true
    ) throws {
        var builder = ConfigurationBuilder()
        builder.apply(try YAMLReader.read(Array(yaml.utf8), source: .file("jostle.yaml")))
        loaded = try builder.finish()
        directory = try TemporaryDirectory()
        self.id = id
        self.boot = boot
        self.retained = retained
        bench = try FleetBench.start(loaded, id: id, boot: boot, run: 0, directory)
        if connects { try connect() }
    }

    private static func start(
        _ loaded: LoadedConfiguration, id: String, boot: String, run: Int, _ directory: TemporaryDirectory
    ) throws -> Bench {
        let stored = StoredConfiguration.open(
            loaded, id: id, boot: boot, in: StateDirectory(path: directory.path), log: Log(level: .error))
        let topics = Topics(prefix: loaded.settings.mqtt.prefix, id: id)
        var bench = Bench(SettingsStore(stored, topics: topics, run: "run-\(run)"))
        bench.clocks.boot = boot
        return bench
    }

    /// The settings in force.
    var settings: JostleSettings { bench.participant.settings }
    var sensitivity: Int { settings.motion.gestures.shake.common.sensitivity }

    // MARK: What happens

    /// Connects, and reads what is retained until everything is settled.
    mutating func connect() throws {
        bench.deliver(.connected)
        try answerSubscriptions()
        try pass(1)
    }

    mutating func disconnect(isOwnFault: Bool = false) {
        bench.deliver(.disconnected(undelivered: [], isOwnFault ? .network(code: ENETUNREACH) : .silent))
    }

    /// Answers all subscriptions, and delivers what is retained.
    mutating func answerSubscriptions(except refused: Set<String> = []) throws {
        for filter in bench.subscriptions where !refused.contains(filter) {
            bench.deliver(.subscriptionAnswered(filter: filter, isGranted: true))
            if let text = retained[filter] { bench.receive(filter, text, retain: true) }
        }
        try storeFiles()
    }

    /// Publishes a retained message, which the connected board receives.
    mutating func publish(_ topic: String, _ text: String) throws {
        retained[topic] = text.isEmpty ? nil : text
        bench.receive(topic, text)
        try storeFiles()
    }

    mutating func publish(_ layer: LayerName, _ text: String) throws {
        try publish(FleetTopics(prefix: "jostle").topic(of: layer, for: id), text)
    }

    /// Receives a message that the broker does not keep, such as an old one that comes late.
    mutating func receive(_ topic: String, _ text: String) throws {
        bench.receive(topic, text)
        try storeFiles()
    }

    mutating func deliver(_ event: ParticipantEvent) { bench.deliver(event) }

    /// Lets time pass in steps of a second, with samples if the sensor works.
    mutating func pass(_ seconds: Double) throws {
        var rest = seconds
        while rest > 0 {
            let step = min(1, rest)
            bench.pass(step)
            rest -= step
            if hasSensor { bench.participant.sampleArrived(at: bench.now) }
            try storeFiles()
        }
    }

    /// Lets time pass without a deadline being met, as if the process were suspended.
    mutating func stall(_ seconds: Double) {
        bench.stall(seconds)
        if hasSensor { bench.participant.sampleArrived(at: bench.now) }
    }

    /// Writes to the disk what the participant asked for.
    mutating func storeFiles() throws {
        while writesSeen < bench.writes {
            writesSeen = bench.writes
            guard hasWorkingDisk else {
                bench.deliver(.fileWritten(.fleetLayers, failure: "No space left on device"))
                return
            }
            for (file, content) in bench.files {
                try directory.write(String(decoding: content, as: UTF8.self), to: file.rawValue)
            }
            bench.deliver(.fileWritten(.fleetLayers, failure: nil))
        }
    }

    /// The writer's retry succeeds.
    mutating func repairDisk() throws {
        hasWorkingDisk = true
        writesSeen -= 1
        try storeFiles()
    }

    /// The process ends and starts again; with `isClean` it ends as it should, else it is killed.
    mutating func restart(isClean: Bool = false, boot newBoot: String? = nil, connects: Bool = true) throws {
        if isClean {
            bench.carryOut(bench.participant.flush(at: bench.clocks))
            try storeFiles()
        }
        boot = newBoot ?? boot
        run += 1
        bench = try FleetBench.start(loaded, id: id, boot: boot, run: run, directory)
        writesSeen = 0
        try storeFiles()
        if connects { try connect() }
    }

    // MARK: What it reports

    mutating func takeRequests() -> [SettingsStore.Request] { bench.takeRequests() }
    mutating func takeLines() -> [String] { bench.takeLines() }

    /// The last report, after the time that one may be held back.
    mutating func report() throws -> [String: Any] {
        try pass(1.5)
        let reports = bench.takePublished().filter { $0.message.topic == "jostle/\(id)/config/reported" }
        if let payload = reports.last?.message.payload { lastReport = payload }
        return try #require(try JSONSerialization.jsonObject(with: Data(lastReport)) as? [String: Any])
    }
    var lastReport: [UInt8] = []

    /// A layer in the last report.
    mutating func layer(_ name: String) throws -> [String: Any] {
        let layers = try #require(try report()["layers"] as? [String: [String: Any]])
        return try #require(layers[name], "no layer \(name)")
    }

    mutating func status(_ name: String) throws -> String {
        let layer = try layer(name)
        let word = try #require(layer["status"] as? String)
        return layer["revision"].map { "\(word) \($0)" } ?? word
    }
}

/// A layer's message that sets the sensitivity of the shake.
func layer(_ revision: Int, sensitivity: Int, _ more: String = "") -> String {
    layer(revision, #"{"gestures":{"shake":{"sensitivity":\#(sensitivity)}}}"#, more)
}

/// A layer's message.
func layer(_ revision: Int, _ config: String, _ more: String = "") -> String {
    #"{"schema":1,"revision":\#(revision),"config":\#(config)\#(more.isEmpty ? "" : ",")\#(more)}"#
}
