import BrokerTestSupport
import Foundation
import Testing

/// The tests in a browser, one after another: each needs a good part of the machine.
@Suite(.needsBrowser, .serialized) enum BrowserTests {}

/// A broker, an observer of all its topics, the page's server, and a browser that has signed in. With a trajectory,
/// also an agent `dut` on a virtual chip.
final class BrowserRig {
    private let rig = Rig()
    let broker: TestBroker
    let observer: Observer
    let browser: Browser
    private(set) var page: PageRig
    private(set) var agent: JostleProgram?
    private let directory = TemporaryDirectory.new()
    private let pageSettings: [String]

    init(
        _ trajectory: String? = nil, agent agentSettings: [String] = [], page pageSettings: [String] = [],
        logsRequests: Bool = false
    ) async throws {
        (broker, observer) = try await rig.observedBroker()
        self.pageSettings = pageSettings
        page = try await PageRig(
            broker: broker.port, pageSettings, environment: ["STATE_DIRECTORY": directory.path("page")])
        browser = try await Browser.started(logsRequests: logsRequests)
        if let trajectory { try await startAgent(trajectory, agentSettings) }
    }

    deinit {
        browser.leave()
        page.program.kill()
    }

    /// The same with an agent, whose board's view is open; its attitude has been shown. With the word of a tab, that is in sight.
    static func onBoard(
        _ trajectory: String, tab: String? = nil, agent: [String] = [], page: [String] = [], logsRequests: Bool = false
    ) async throws -> BrowserRig {
        let rig = try await BrowserRig(trajectory, agent: agent, page: page, logsRequests: logsRequests)
        try rig.open("/?board=dut")
        let isShown = await rig.browser.shows("document.getElementById('board-3d')?.dataset.t")
        let text: String = try rig.browser.value("document.body.innerText")
        try #require(isShown, "\(text)")
        if let tab { try await rig.openTab(tab) }
        return rig
    }

    /// Clicks the link to a tab of the board, and waits until the tab is in sight.
    func openTab(_ name: String) async throws {
        try browser.click("#tab-\(name)")
        let isSelected = "document.getElementById('tab-\(name)').getAttribute('aria-selected') === 'true'"
        try #require(await browser.shows(isSelected), "\(name)")
    }

    /// The words of all tabs.
    func tabs() throws -> [String] {
        try browser.value("[...document.querySelectorAll('[role=tab]')].map((one) => one.id.replace('tab-', ''))")
    }

    /// Starts the agent, with the state of the one before, and waits until it is online.
    func startAgent(_ trajectory: String, _ settings: [String] = []) async throws {
        let seen = observer.texts("availability").count
        let agent = try rig.virtualAgent(
            broker: broker.port, trajectory, ["home_assistant.discovery=false"] + settings,
            state: directory.path("agent"))
        self.agent = agent
        try #require(await observer.availability("online", count: seen + 1), "\(agent.errors)")
    }

    /// Ends the page's server, and starts it again at the same port.
    func restartPage() async throws {
        page.program.kill()
        page = try await PageRig(
            broker: broker.port, pageSettings, port: page.port,
            environment: ["STATE_DIRECTORY": directory.path("page")])
    }

    /// Signs the browser in, and opens a path such as `/?board=dut`.
    func open(_ path: String) throws {
        try browser.open("\(page.base)/?token=\(page.token)")
        try browser.open(page.base + path)
    }

    /// The header with the cookies of the browser.
    func cookie() throws -> RawHTTP.Header {
        let cookies = try browser.command("GET", "/cookie") as? [[String: Any]] ?? []
        let pairs = cookies.map { "\($0["name"] as? String ?? "")=\($0["value"] as? String ?? "")" }
        return ("Cookie", pairs.joined(separator: "; "))
    }

    /// Checks that the console of the browser has no warning and no error.
    func expectQuietConsole(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let complaints = try browser.complaints()
        #expect(complaints.isEmpty, "\(complaints)", sourceLocation: sourceLocation)
    }
}
