import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: with brokers of other makes than mosquitto, devices and commands do what they do with mosquitto, or say what
/// the broker cannot do.
///
/// `JOSTLE_DOCTOR_RUNS=20` runs `jostle doctor` so often with each broker, all at once.
@Suite(.needsProgram) struct OtherBrokerTests {
    private let rig = Rig()
    private let runs = Int(ProcessInfo.processInfo.environment["JOSTLE_DOCTOR_RUNS"] ?? "") ?? 3

    @Test(.needs(.rabbitMQ)) func rabbitMQ() async throws {
        try await check(.rabbitMQ, refusal: "the connection was closed", attempts: 2)
    }

    @Test(.needs(.amqtt)) func amqtt() async throws {
        try await check(.amqtt, refusal: "no answer in time", attempts: 2)
    }

    @Test(.needs(.nats)) func nats() async throws {
        // It refuses as a broker without MQTT 5 does, which later versions of the library do not take for a refusal.
        let refusal =
            libmosquittoVersion == "2.0.11"
            ? "the broker refused the connection: Unsupported Protocol Version"
            : "the broker's answer is not valid MQTT of this version"
        try await check(.nats, refusal: refusal, attempts: 1)
    }

    // `refusal` is how the log says that the broker does not know MQTT 5, and `attempts` how often the agent asks for that
    // before it asks for 3.1.1.
    private func check(_ make: BrokerMake, refusal: String, attempts: Int) async throws {
        let broker = try await rig.broker(make)
        let url = "mqtt://127.0.0.1:\(broker.port)"
        let observer = try await Observer(broker.port, versions: .only(.v311))
        let watch = try rig.run(["watch", "--broker", url], environment: ["LC_ALL": "C.UTF-8"])
        let withholds = "this broker sends no retained messages"
        if make == .rabbitMQ { #expect(await watch.prints(withholds), "\(watch.output)") }

        // Through a proxy, which decides whether observer or agent is back first after a restart.
        let proxy = try rig.proxy(to: broker.port)
        let agent = try rig.virtualAgent(broker: proxy.port, "demo")
        #expect(await observer.availability("online"), "\(agent.errors)")
        let version = make.knowsVersion5 ? "MQTT 5" : "MQTT 3.1.1"
        let reason = make.knowsVersion5 ? "" : " (MQTT 5: \(refusal); mqtt.version: v3.1.1 does without it)"
        let asked = make.knowsVersion5 ? 1 : attempts
        let warned = make.knowsVersion5 ? 0 : attempts
        // The agent logs it a moment after the broker has its first message.
        #expect(
            await agent.logs("connected to mqtt://127.0.0.1:\(proxy.port) with \(version)\(reason)\n"),
            "\(agent.errors)")
        #expect(agent.lines(with: ["connecting to", "with MQTT 5"]) == asked, "\(agent.errors)")

        // A shake arrives, at those who watch too. They ask for 3.1.1 if a busy broker of MQTT 5 does not answer soon.
        let watched = make.knowsVersion5 ? "MQTT " : version
        await observer.expect(agent) { try $0.shakes().contains { $0.phase == "began" } }
        for text in ["connected to \(url), \(watched)", "dut  online", "dut  shake began, axis x"] {
            #expect(await watch.prints(text), "\(text): \(watch.output)")
        }
        #expect(watch.output.contains(withholds) == (make == .rabbitMQ), "\(watch.output)")
        try await examine(url, version, observer)
        try await command(make, url)

        // What happens during an outage arrives afterwards. Which version the broker knows is not forgotten.
        #expect(agent.lines(with: ["warning: mqtt://"]) == warned, "\(agent.errors)")
        proxy.cut()
        try await observer.catchUp()
        // After a crash, RabbitMQ may not deliver to a queue that is declared again (rabbitmq-server issue 5075).
        if make == .rabbitMQ { broker.stop() } else { broker.kill() }
        let gestures = agent.lines(with: [" began"])
        #expect(await eventually { agent.lines(with: [" began"]) > gestures }, "\(agent.errors)")
        try await broker.start()
        #expect(await observer.subscribed(times: 2))
        try await observer.catchUp()
        let shakes = try observer.shakes().count
        proxy.restore()
        #expect(await agent.logs("connected to mqtt://", times: 2), "\(agent.errors)")
        await observer.expect(agent) { try $0.shakes().count > shakes }
        if !make.knowsVersion5 {
            #expect(agent.lines(with: ["connecting to", "with MQTT 5"]) == asked, "\(agent.errors)")
        }
        #expect(observer.texts("availability").last == "online")

        agent.kill()
        #expect(await observer.availability("offline"))
        // Nor may RabbitMQ after a stop, one time in many: who watches is subscribed again, and hears nothing.
        if make != .rabbitMQ { #expect(await watch.prints("dut  offline"), "\(watch.output)") }
        try expectComplete(observer)
    }

    /// `jostle doctor` is right each time.
    private func examine(_ url: String, _ version: String, _ observer: Observer) async throws {
        let settings = ["device.id=dut", "mqtt.broker=\(url)", "sensor.driver=virtual", "sensor.enabled=false"]
        let words = ["doctor", "--json"] + settings.flatMap { ["--set", $0] }
        let programs = try (0..<runs).map { _ in try rig.run(words) }
        for program in programs {
            let outcome = await program.outcome()
            // A disk that stalls is a problem that it tells, too.
            let hasProblem = try observer.objects("health").last?["problem"] as? Bool == true
            outcome.expect(
                status: 0, output: #"{"check":"broker","verdict":"ok","text":"\#(url) answers, with \#(version)"}"#,
                #"{"check":"topics","verdict":"ok""#,
                #"{"check":"agent","verdict":"\#(hasProblem ? "warning" : "ok")","text":"online"#)
        }
    }

    /// What `jostle fleet` can do with the broker.
    private func command(_ make: BrokerMake, _ url: String) async throws {
        let state = TemporaryDirectory.new()
        func fleet(_ words: String...) async throws -> Outcome {
            try await rig.run(
                ["fleet"] + words + ["--broker", url], environment: ["STATE_DIRECTORY": state.path("")]
            ).outcome()
        }
        try await fleet("set", "--device", "dut", "gestures.tap.sensitivity=7").expect(
            status: 0, output: "1 of 1 device applied it")
        try await fleet("get", "--device", "dut").expect(status: 0, output: "gestures.tap.sensitivity=7")
        // RabbitMQ sends what it holds only by name, and the names of known devices are known.
        let list = try await fleet("list")
        list.expect(status: 0, output: "dut     online")
        #expect(list.errors.contains("as RabbitMQ does not") == (make == .rabbitMQ), "\(list.errors)")
        try await fleet("command", "ping", "--device", "dut").expect(status: 0, output: "dut  done")
        try await fleet("log").expect(status: 0, output: "device:dut")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if there is no broker of this make.
    fileprivate static func needs(_ make: BrokerMake) -> Self {
        .enabled(if: make.executable != nil, "there is no \(make.rawValue); Scripts/setup test gets it")
    }
}

extension JostleProgram {
    /// The number of lines on standard error that contain all these texts.
    fileprivate func lines(with texts: [String]) -> Int {
        errors.split(separator: "\n").count { line in texts.allSatisfy { line.contains($0) } }
    }

    /// Waits until a text appears on standard output.
    fileprivate func prints(_ text: String) async -> Bool {
        await eventually { output.contains(text) || !isRunning } && output.contains(text)
    }
}
