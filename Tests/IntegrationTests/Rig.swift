import BrokerTestSupport
import Foundation
import Testing

extension Rig {
    /// A running broker that accepts everybody, and an observer of all its topics.
    func observedBroker() async throws -> (TestBroker, Observer) {
        let broker = try await broker()
        return (broker, try await Observer(broker.port))
    }

    /// A running broker that accepts everybody, and simulated boards of a fleet.
    func fleet(_ boards: [SimulatedBoards.Board]) async throws -> (TestBroker, SimulatedBoards) {
        let broker = try await broker()
        return (broker, try await SimulatedBoards(broker.port, boards))
    }

    /// The same, and an observer of all topics.
    func observedFleet(_ boards: [SimulatedBoards.Board]) async throws -> (TestBroker, SimulatedBoards, Observer) {
        let (broker, boards) = try await fleet(boards)
        return (broker, boards, try await Observer(broker.port))
    }

    /// A proxy to a port of this machine.
    func proxy(to port: UInt16, _ quirk: TCPProxy.Quirk? = nil) throws -> TCPProxy {
        let proxy = try TCPProxy(to: port, quirk)
        atEnd { proxy.end() }
        return proxy
    }

    /// Runs a program until its end, or until that of the test.
    func run(
        _ arguments: [String], input: String = "", environment: [String: String] = [:],
        fake: (path: String, options: String)? = nil, launcher: [String] = [], program: URL = Products.program
    ) throws -> JostleProgram {
        let program = try JostleProgram(
            arguments, input: input, environment: environment, fake: fake, launcher: launcher, program: program)
        atEnd { program.kill() }
        return program
    }

    /// Runs a program on a terminal, after variables and options for env(1). Its errors are in the directory's
    /// `errors`, or on the terminal too.
    func run(
        on terminal: Terminal, in directory: TemporaryDirectory, showsErrors: Bool = false, _ words: [String]
    ) throws -> ChildProcess {
        let script = "exec env \"$@\" <\"$0\" >\"$0\"" + (showsErrors ? " 2>\"$0\"" : "")
        let child = try ChildProcess(
            ["/bin/sh", "-c", script, terminal.path] + words, in: directory, errors: directory.path("errors"))
        atEnd { child.kill() }
        return child
    }

    /// A running agent called `dut`, with additional settings. It ends after two minutes unless told otherwise, and its
    /// state is deleted unless a state directory is given.
    func agent(
        broker port: UInt16, _ settings: [String], fake: (path: String, options: String)? = nil, state: String? = nil,
        environment: [String: String] = [:], seconds: Int = 120
    ) throws -> JostleProgram {
        let all = ["device.id=dut", "mqtt.broker=mqtt://127.0.0.1:\(port)", "log.level=debug"] + settings
        var environment = environment
        if let state { environment["STATE_DIRECTORY"] = state }
        return try run(
            ["run", "--for", "\(seconds)"] + all.flatMap { ["--set", $0] }, environment: environment, fake: fake)
    }

    /// A running agent on the virtual sensor, moved along a trajectory.
    ///
    /// The low rate gives the FIFO a second of slack on a machine that is busy with other tests.
    func virtualAgent(broker port: UInt16, _ trajectory: String, _ settings: String...) throws -> JostleProgram {
        try virtualAgent(broker: port, trajectory, settings)
    }

    func virtualAgent(
        broker port: UInt16, _ trajectory: String, _ settings: [String], state: String? = nil,
        environment: [String: String] = [:]
    ) throws -> JostleProgram {
        try agent(
            broker: port, ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz"] + settings,
            state: state, environment: environment)
    }

    /// A running broker that accepts everybody, an observer of all its topics, and an agent on the virtual sensor that is
    /// online.
    func observedAgent(
        _ trajectory: String = "rest", _ settings: String..., state: String? = nil
    ) async throws -> (TestBroker, Observer, JostleProgram) {
        try await observedAgent(trajectory, settings, state: state)
    }

    func observedAgent(
        _ trajectory: String, _ settings: [String], state: String? = nil
    ) async throws -> (TestBroker, Observer, JostleProgram) {
        let (broker, observer) = try await observedBroker()
        let agent = try virtualAgent(broker: broker.port, trajectory, settings, state: state)
        try #require(await observer.availability("online"), "\(agent.errors)")
        return (broker, observer, agent)
    }

    /// A running `jostle-page`, as `PageRig.init`.
    func page(
        broker: UInt16, _ settings: [String] = [], port: UInt16 = 0, arguments: [String] = [],
        environment: [String: String] = [:], launcher: [String] = []
    ) async throws -> PageRig {
        let page = try await PageRig(
            broker: broker, settings, port: port, arguments: arguments, environment: environment, launcher: launcher)
        atEnd { page.program.kill() }
        return page
    }

    /// The stream of a view of a page.
    func events(_ page: PageRig, _ query: String, _ cookie: RawHTTP.Header) throws -> PageEvents {
        let events = try PageEvents(page, query, cookie)
        atEnd { events.close() }
        return events
    }

    /// A browser.
    func browser() async throws -> Browser {
        let browser = try await Browser.started()
        atEnd { browser.leave() }
        return browser
    }
}
