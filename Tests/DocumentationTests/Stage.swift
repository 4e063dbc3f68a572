import BrokerTestSupport
import Foundation
import Testing

/// A place in which the commands of the documentation can be typed as they stand, without changing the machine.
///
/// It has a broker, boards with the virtual chip, and a directory that stands for `/etc`. Programs that change the machine
/// are replaced by those in `Tests/StandIns`, which accept only what exists.
final class Stage {
    /// The devices of the examples, and their groups.
    private static let boards = ["lamp-shaker": "[]", "washer-1": "[laundry]", "washer-2": "[laundry]"]

    private static let standIns = Documentation.repository.appendingPathComponent("Tests/StandIns").path
    private static let fakeAdapter = URL(fileURLWithPath: Program.path).deletingLastPathComponent()
        .appendingPathComponent("libFakeI2CAdapter.so").path

    /// Whether everything is installed and built that is typed for real.
    static var isComplete: Bool {
        let programs = ["bash", "timeout", "make", "openssl", "mosquitto_sub", "mosquitto_pub", "mosquitto_passwd"]
        let page = URL(fileURLWithPath: Program.path).deletingLastPathComponent().appendingPathComponent("jostle-page")
        let files = programs.map { "/usr/bin/" + $0 } + [fakeAdapter, page.path]
        return Program.isBuilt && TestBroker.isAvailable && files.allSatisfy(FileManager.default.fileExists)
    }

    private let directory: TemporaryDirectory
    private let broker: TestBroker
    private var agents: [ChildProcess] = []

    private var url: String { "mqtt://127.0.0.1:\(broker.port)" }

    /// Starts broker and boards, and writes the files that a reader has.
    init() async throws {
        directory = try TemporaryDirectory()
        broker = try await TestBroker.started()
        for folder in [
            "work", "root", "state", "etc/jostle/credentials", "etc/mosquitto/conf.d", "etc/mosquitto/jostle",
        ] {
            try FileManager.default.createDirectory(atPath: directory.path(folder), withIntermediateDirectories: true)
        }
        try directory.write("device: { id: lamp-shaker }\nmqtt: { broker: \"\(url)\" }\n", to: "etc/jostle/jostle.yaml")
        for name in ["jostle.conf", "acl"] {
            try directory.write(try Documentation.text(of: "config/mosquitto/" + name), to: "work/" + name)
        }
        for name in ["jostle", "jostle-page"] {
            try directory.write("", to: "work/\(name)_0.1.0-1~deb13u1_arm64.deb")
        }
        try runCommand(["sh", "-c", "cd work && sha256sum *.deb >SHA256SUMS"], in: directory)
        for (id, groups) in Self.boards { agents.append(try board(id, groups: groups)) }
        for id in Self.boards.keys {
            let from = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-t", "jostle/\(id)/health"]
            try runCommand(["mosquitto_sub", "-C", "1", "-W", "60"] + from, in: directory)
        }
        // The files of a fleet, which a reader has from the first sections of its page.
        let export = try type(
            """
            jostle fleet set --group laundry gestures.shake.enabled=false
            jostle fleet export fleet
            """)
        #expect(export.status == 0, "\(export.output)")
    }

    deinit {
        for agent in agents {
            kill(agent.identifier, SIGKILL)
            agent.wait()
        }
        broker.kill()
    }

    private func board(_ id: String, groups: String) throws -> ChildProcess {
        let settings = [
            "device.id=\(id)", "device.groups=\(groups)", "mqtt.broker=\(url)", "sensor.driver=virtual",
            "sensor.trajectory=rest",
        ]
        let variables = ["JOSTLE_CONFIG=/dev/null", "STATE_DIRECTORY=\(directory.path("state/" + id))"]
        let options = settings.flatMap { ["--set", $0] }
        return try ChildProcess(["env"] + variables + [Program.path, "run"] + options, in: directory)
    }

    /// What stands for the paths and addresses in the documentation.
    private func adapted(_ text: String) -> String {
        text.replacing("/root/", with: directory.path("root/"))
            .replacing("/etc/", with: directory.path("etc/"))
            .replacing("/var/lib/jostle", with: directory.path("state/here"))
            .replacing("/dev/i2c-1", with: "/dev/null")
            .replacing(".build/release/jostle", with: "jostle")
            .replacing("<id>", with: "lamp-shaker")
            .replacing(/mqtts?:\/\/[$a-z0-9.-]+(:[0-9]+)?/, with: url)
    }

    /// Types commands; returns the exit status of the first one that fails, and what they printed.
    func type(_ text: String) throws -> (status: Int32, output: String) {
        let variables = [
            "STAGE_ROOT": directory.path, "STAGE_REPOSITORY": Documentation.repository.path,
            "STAGE_PORT": "\(broker.port)", "STAGE_PROGRAM": Program.path, "STAGE_FAKE_ADAPTER": Self.fakeAdapter,
            // The number of a bus that the machine does not have.
            "STAGE_BUS": try directory.write("", to: "i2c-\(getpid())999"),
            "PATH": "\(Self.standIns):/usr/bin:/bin:/usr/sbin:/sbin", "USER": "reader",
        ]
        let script = try directory.write(adapted(text), to: "script")
        let start = "cd work && exec env \"$@\" </dev/null >../output 2>&1"
        let shell = ["timeout", "-k", "5", "120", "bash", "-euo", "pipefail", script]
        let process = try ChildProcess(
            ["/bin/sh", "-c", start, "sh"] + variables.map { "\($0)=\($1)" } + shell, in: directory)
        let status = process.wait()
        return (status, try String(contentsOfFile: directory.path("output"), encoding: .utf8))
    }
}
