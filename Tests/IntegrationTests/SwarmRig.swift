import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// A broker, an observer of all its topics, and a running swarm whose standard input the test writes.
final class SwarmRig {
    let broker: TestBroker
    let observer: Observer
    let swarm: JostleProgram
    /// The boards' state is in `state`, and temporary directories are in `temporary`.
    let directory: TemporaryDirectory
    private let input: Int32

    /// Starts all three, and waits until all boards are online. With `stallsDisk`, a file `stall` in the directory stalls
    /// the disk of the boards.
    init(devices: Int, _ options: String..., limit: String = "true", stallsDisk: Bool = false) async throws {
        broker = try await TestBroker.started()
        observer = try await Observer(broker.port)
        directory = try TemporaryDirectory()
        let pipe = directory.path("orders")
        try #require(mkfifo(pipe, 0o600) == 0)
        // Open for both, so that neither this nor the shell waits for the other end.
        input = open(pipe, O_RDWR | O_CLOEXEC)
        try #require(input >= 0)
        try FileManager.default.createDirectory(
            atPath: directory.path("temporary"), withIntermediateDirectories: true)
        swarm = try JostleProgram(
            ["--devices", "\(devices)", "--broker", "mqtt://127.0.0.1:\(broker.port)", "--for", "120"] + options,
            environment: ["TMPDIR": directory.path("temporary")].merging(
                stallsDisk
                    ? [
                        "LD_PRELOAD": Products.stallingDisk.path, "STALLING_DISK": directory.path("temporary"),
                        "STALLING_DISK_SWITCH": directory.path("stall"),
                    ] : [:]
            ) { $1 },
            launcher: ["/bin/sh", "-c", "\(limit); exec \"$0\" \"$@\" <'\(pipe)'"],
            program: Products.swarmProgram)
        let ids = SwarmRig.ids(devices)
        try #require(await observer.sees { SwarmRig.online($0, ids) == devices }, "\(swarm.errors)")
    }

    deinit {
        swarm.kill()
        broker.kill()
        close(input)
    }

    /// The ids of the first boards.
    static func ids(_ count: Int) -> [String] { (1...count).map { "swarm-" + String(format: "%04d", $0) } }

    /// The number of boards whose last availability is `online`.
    private static func online(_ observer: Observer, _ ids: [String]) -> Int {
        let topics = Set(ids.map { "jostle/\($0)/availability" })
        var last: [String: [UInt8]] = [:]
        for message in observer.all where topics.contains(message.topic) { last[message.topic] = message.payload }
        return last.values.count { $0 == Array("online".utf8) }
    }

    /// Writes a line to the swarm's standard input.
    func order(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        #expect(write(input, bytes, bytes.count) == bytes.count)
    }

    /// Waits until the swarm's output contains a text.
    func says(_ text: String) async -> Bool {
        await eventually { swarm.output.contains(text) }
    }

    /// The last whole line of figures; empty before there is one.
    func figures() throws -> [String: Any] {
        let lines = swarm.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        guard let line = lines.last(where: { $0.hasPrefix("{\"t\":") }) else { return [:] }
        return try #require(try JSON.object(line))
    }

    /// The layer of a key according to a board's last report.
    func origin(_ key: String, of id: String) throws -> String? {
        (try observer.objects("config/reported", of: id).last?["origins"] as? [String: String])?[key]
    }

    /// The availabilities of a board, in order.
    func availabilities(of id: String) -> [String] { observer.texts("availability", of: id) }
}
