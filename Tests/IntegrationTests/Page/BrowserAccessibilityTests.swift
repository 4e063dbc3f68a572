import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

extension BrowserTests {
    /// The page can be read and operated by everybody: in both colour schemes, on a phone, without a mouse.
    @Suite struct Accessibility {
        private let rig = Rig()

        /// Checks the page in both colour schemes, in a wide window and on a phone.
        private func audit(_ browser: Browser, _ name: String) throws {
            try browser.run("scrollTo(0, 0)")
            for scheme in ["light", "dark"] {
                try browser.prefer(scheme)
                for (width, height) in [(1280, 900), (360, 780)] {
                    try browser.resize(width, height, isPhone: width < 500)
                    // Two frames: the page has taken the new colours and sizes.
                    try browser.runAndWait(
                        "for (let n = 0; n < 2; n += 1) await new Promise(requestAnimationFrame); return true")
                    let problems = try browser.accessibilityProblems()
                    #expect(problems.isEmpty, "\(name), \(scheme), \(width) px: \(problems)")
                }
            }
            try browser.resize(1280, 900)
            let problems = try browser.keyboardProblems()
            #expect(problems.isEmpty, "\(name): \(problems)")
        }

        @Test func oneBoard() async throws {
            let rig = try await BrowserRig.onBoard(
                "shake", agent: ["commands.allow=[stream, calibrate, log, machine, restart]"],
                page: ["page.control=true"])
            let browser = rig.browser
            // Something in each panel: gestures, a near miss, a problem, a refused value, an answer, a calibration.
            try rig.observer.publish("jostle/dut/set/gestures.tap.sensitivity", "99")
            try rig.observer.publish(
                MQTTMessage(
                    topic: "jostle/dut/near-miss",
                    text:
                        #"{"t":\#(Int(Date().timeIntervalSince1970 * 1000)),"gesture":"tap","reason":"too_weak","text":"no tap: too weak"}"#
                ))
            #expect(
                await browser.shows("document.querySelector('.log .ended')"))
            #expect(await browser.shows("document.querySelector('.setting.failed')"))
            // Later than the agent's own first report.
            try rig.observer.publish(
                MQTTMessage(topic: "jostle/dut/health", text: #"{"problems":["clock"],"gaps":3,"rate":200.1}"#))
            #expect(await browser.shows("document.querySelector('.at-health .alert')"))
            try await rig.openTab("vibration")
            let machine = #""phase":"running","duration":9,"v_10_90":1.8,"octaves":[-41,-38],"lines":[[24.8,0.3]],"#
            let time = Int(Date().timeIntervalSince1970 * 1000)
            try rig.observer.publish(
                "jostle/dut/machine", #"{"t":\#(time),\#(machine)"confidence":"learning","changed":true}"#)
            #expect(await browser.shows("document.querySelector('.at-vibration .alert')?.getClientRects().length > 0"))
            let runs = #"{"ok":true,"runs":[{"t":1700000000000,"duration":5400,"longest_pause":310,"peak":1.25}]}"#
            try rig.observer.publish("jostle/dut/command/machine/result", runs)
            #expect(await browser.shows("document.querySelector('.machine tbody tr')?.getClientRects().length > 0"))
            try await rig.openTab("commands")
            try browser.clickButton("Accelerometer")
            #expect(await browser.shows("document.querySelector('.calibration svg')?.getClientRects().length > 0"))
            try await rig.openTab("health")
            try browser.clickButton("Show the last log lines")
            #expect(await browser.shows("document.querySelector('.lines li')"))
            try await rig.openTab("history")
            #expect(await browser.shows("document.querySelector('.at-history .current')"))
            for tab in try rig.tabs() {
                try await rig.openTab(tab)
                try audit(browser, tab)
            }
            try await rig.openTab("commands")
            // A question ends after 5 s, and the audit takes longer: it ends when the test says so.
            let ask = """
                const timer = setTimeout;
                window.setTimeout = (end) => { window.endQuestion = end; };
                document.querySelector(".command.restart button").click();
                window.setTimeout = timer;
                """
            try browser.run(ask)
            try audit(browser, "a question")
            try browser.run("endQuestion()")

            // A question that nobody answers ends, and takes the focus from nobody.
            try browser.clickButton("Restart the agent")
            let question = "document.querySelector('.command.restart .danger')"
            #expect(await browser.shows("\(question).hidden"))
            try browser.run(ask + "document.querySelector('.command.calibrate button').focus(); endQuestion();")
            #expect(try browser.value("\(question).hidden && document.activeElement.closest('.calibrate') !== null"))

            // Gestures are announced.
            let voice = "document.querySelector('[aria-live=polite].unseen').textContent"
            #expect(await browser.shows("\(voice).startsWith('shake ')"))
            rig.agent?.kill()
            #expect(await browser.shows("!document.getElementById('banner').hidden"))
            for tab in ["overview", "settings", "commands"] {
                try await rig.openTab(tab)
                try audit(browser, "an offline board, \(tab)")
            }
            try browser.clickButton("Forget this board…")
            try audit(browser, "the question whether to forget a board")
            try rig.expectQuietConsole()
        }

        @Test func allBoardsAndAReadOnlyBoard() async throws {
            let rig = try await BrowserRig()
            var problem = SimulatedBoards.Board(id: "washer-2", groups: ["laundry"])
            problem.health = #"{"version":"0.1.0","sensor":"MPU-6050","problems":["sensor","clock"]}"#
            problem.behaviour = .isSilent
            var offline = SimulatedBoards.Board(id: "washer-3")
            offline.isOnline = false
            let boards = try await SimulatedBoards(
                rig.broker.port, [SimulatedBoards.Board(id: "washer-1", groups: ["laundry"]), problem, offline])
            defer { withExtendedLifetime(boards) {} }
            try rig.open("/?view=boards")
            #expect(await rig.browser.shows("document.querySelectorAll('.boards-body .board').length === 3"))
            try audit(rig.browser, "all boards")
            try rig.browser.open(rig.page.base + "/?board=washer-1")
            #expect(await rig.browser.shows("document.querySelector('.at-force tbody tr')"))
            for tab in ["overview", "settings", "commands"] {
                try await rig.openTab(tab)
                try audit(rig.browser, "a board of a page that only shows, \(tab)")
            }
            try rig.expectQuietConsole()
        }

        @Test func severalBoards() async throws {
            let rig = try await BrowserRig("rest", page: ["page.control=true"])
            var offline = SimulatedBoards.Board(id: "washer-2", groups: ["laundry"])
            offline.isOnline = false
            var held = SimulatedBoards.Board(id: "washer-3", groups: ["laundry"])
            held.origins = #"{"gestures.shake.sensitivity":"group:laundry"}"#
            held.layers["group:laundry"] = #"{"status":"applied","revision":3}"#
            let boards = try await SimulatedBoards(
                rig.broker.port, [SimulatedBoards.Board(id: "washer-1"), offline, held])
            defer { withExtendedLifetime(boards) {} }
            try rig.open("/?view=boards")
            let browser = rig.browser
            #expect(await browser.shows("document.querySelectorAll('.boards-body .board').length === 4"))
            try browser.click(".cell-select input[value=washer-1]")
            try audit(browser, "some boards are selected")
            try browser.click(".selection label input")
            try browser.clickButton("Set for 4 boards…")
            #expect(await browser.shows("document.querySelector('.bulk .notice').hidden"))
            try audit(browser, "several boards, no setting")
            for key in ["gestures.flick.directions", "attitude.reference", "gestures.shake.sensitivity"] {
                try browser.run(
                    """
                    const choice = document.getElementById("bulk-key");
                    choice.value = arguments[0];
                    choice.dispatchEvent(new Event("change"));
                    """, key)
                let button = "document.querySelector('.bulk .primary').textContent"
                #expect(await browser.shows("/^Set for [12] board/.test(\(button))"))
                try audit(browser, "several boards, \(key)")
            }
            try browser.run(
                """
                const slider = document.getElementById("set-gestures-shake-sensitivity");
                slider.value = 8;
                slider.dispatchEvent(new Event("input"));
                """)
            try browser.clickButton("Set for 2 boards")
            #expect(
                await browser.shows(
                    "document.querySelector('.bulk .totals').textContent === '1 in force, 1 not answered, 2 left out'"))
            try audit(browser, "several boards, outcomes")
            try rig.expectQuietConsole()
        }

        /// Requirement: the page is light or dark as the system is, or as somebody chose, also before somebody signs in.
        @Test func coloursCanBeChosen() async throws {
            let rig = try await BrowserRig()
            let browser = rig.browser
            func colors(_ name: String) async -> Bool {
                let wanted = name == "dark" ? "rgb(14, 19, 27)" : "rgb(238, 241, 246)"
                return await browser.shows("getComputedStyle(document.documentElement).backgroundColor === '\(wanted)'")
            }
            func choose(_ name: String) throws {
                try browser.run(
                    """
                    const choice = document.getElementById("theme");
                    choice.value = arguments[0];
                    choice.dispatchEvent(new Event("change"));
                    """, name)
            }
            try browser.prefer("dark")
            try rig.open("/?view=boards")
            #expect(await colors("dark"))
            try browser.prefer("light")
            #expect(await colors("light"))
            try choose("dark")
            #expect(await colors("dark"))
            for path in ["/?view=boards", "/login"] {
                try browser.open(rig.page.base + path)
                #expect(await colors("dark"), "it stays so")
            }
            try browser.open(rig.page.base + "/?view=boards")
            #expect(try browser.value("document.getElementById('theme').value") == "dark")
            try choose("light")
            try browser.prefer("dark")
            #expect(await colors("light"))
            try choose("")
            #expect(await colors("dark"))
            try rig.expectQuietConsole()
        }

        @Test func theSignIn() async throws {
            let broker = try await rig.broker()
            let page = try await rig.page(broker: broker.port)
            let browser = try await rig.browser()
            try browser.open(page.base + "/login")
            try browser.type("wrong")
            try browser.press(.enter)
            #expect(
                await browser.shows(
                    "document.getElementById('problem').textContent.startsWith('This page has no password')"))
            try audit(browser, "sign-in")
        }

        /// Requirement: for who prefers less motion, the picture of the board changes at most twice a second.
        @Test func lessMotionForWhoPrefersIt() async throws {
            let rig = try await BrowserRig.onBoard("fast-turn", agent: ["sensor.rate=200Hz"])
            // The number of changes of the picture, the time that they took, and the shortest one between two, ms.
            let watching = """
                const [seconds, enough] = arguments;
                const board = document.getElementById("board-3d");
                const times = [];
                const start = performance.now();
                let shown = board.style.transform;
                while (performance.now() < start + 1000 * seconds && times.length < enough) {
                  const at = await new Promise(requestAnimationFrame);
                  if (board.style.transform !== shown) times.push(at);
                  shown = board.style.transform;
                }
                const gaps = times.slice(1).map((time, index) => Math.round(time - times[index]));
                return [times.length, Math.round(performance.now() - start), Math.min(...gaps, 1e6)];
                """
            let usual = try #require(try rig.browser.runAndWait(watching, 25, 13) as? [Int])
            try rig.browser.prefer("light", reducedMotion: true)
            let reduced = try #require(try rig.browser.runAndWait(watching, 3, 100) as? [Int])
            print("browser: pictures, ms and shortest pause \(usual), with less motion \(reduced)")
            #expect(usual[0] == 13 && usual[2] < 450)
            #expect(reduced[0] <= reduced[1] / 500 + 1)
            let animated: Int = try rig.browser.value("document.getAnimations().length")
            #expect(animated == 0)
        }
    }
}
