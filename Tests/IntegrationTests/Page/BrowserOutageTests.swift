import BrokerTestSupport
import Foundation
import Testing

extension BrowserTests {
    /// The page says what is missing between it and the board, and goes on by itself when it is back.
    @Suite struct Outages {
        private static let banner = "document.getElementById('banner')"

        @Test func aKilledAgentIsOfflineUntilItIsBack() async throws {
            let rig = try await BrowserRig.onBoard("rest", page: ["page.control=true"])
            try rig.browser.run("window.stillHere = true")
            rig.agent?.kill()
            #expect(await rig.browser.shows("\(Self.banner).innerText.startsWith('The board is offline since')"))
            #expect(await rig.browser.shows("document.querySelector('.states').innerText.includes('offline')"))
            #expect(
                await rig.browser.shows("document.getElementById('set-gestures-shake-sensitivity').disabled"),
                "nothing can be changed meanwhile")
            let samples: Int = try rig.browser.value("jostlePage.samples")
            try await rig.startAgent("rest")
            #expect(await rig.browser.shows("\(Self.banner).hidden"))
            #expect(await rig.browser.shows("document.querySelector('.states').innerText.includes('online')"))
            #expect(
                await rig.browser.shows("jostlePage.samples > \(samples + 20)"),
                "it streams again")
            #expect(try rig.browser.value("window.stillHere"))
            try rig.expectQuietConsole()
        }

        @Test func thePageOutlivesItsServerAndItsBroker() async throws {
            let rig = try await BrowserRig.onBoard("rest")
            try rig.browser.run("window.stillHere = true")
            rig.page.program.kill()
            #expect(
                await rig.browser.shows(
                    "\(Self.banner).innerText.startsWith(\"No contact with the page's server since\")"))
            #expect(try rig.browser.value("document.getElementById('contact').textContent") == "connecting")
            try await rig.restartPage()
            let shown: Double = try rig.browser.value("jostlePage.lastShown.t")
            #expect(await rig.browser.shows("\(Self.banner).hidden && jostlePage.lastShown.t > \(shown)"))
            #expect(try rig.browser.value("document.getElementById('contact').textContent") == "live")

            rig.broker.stop()
            #expect(
                await rig.browser.shows(
                    "\(Self.banner).innerText.startsWith(\"The page's server has no connection to the broker\")"))
            #expect(await rig.browser.shows("document.getElementById('contact').textContent === 'no broker'"))
            try await rig.broker.start()
            #expect(await rig.browser.shows("\(Self.banner).hidden"))
            #expect(try rig.browser.value("window.stillHere"), "the page was not loaded again")
            let others = try rig.browser.complaints().filter {
                !$0.contains("ERR_CONNECTION_REFUSED") && !$0.contains("ERR_INCOMPLETE_CHUNKED")
                    && !$0.contains("ERR_EMPTY_RESPONSE") && !$0.contains("ERR_CONNECTION_RESET")
            }
            #expect(others.isEmpty, "Chromium itself complains of refused connections: \(others)")
        }

        /// What is green in the view: texts and backgrounds in the colours of what is well, and the pictures.
        private static let green = """
            const probe = document.body.appendChild(document.createElement("i"));
            const colors = ["good", "good-soft"].map((name) => {
              probe.style.color = `var(--${name})`;
              return getComputedStyle(probe).color;
            });
            probe.remove();
            return [...document.querySelectorAll("main *")].filter((one) => {
              const { color, backgroundColor } = getComputedStyle(one);
              return one.getClientRects().length > 0 && (colors.includes(color) || colors.includes(backgroundColor));
            }).map((one) => one.outerHTML.slice(0, 100));
            """

        private static let old = "[...document.querySelectorAll('.card.old')].map((one) => one.className).join()"

        /// Requirement: what is older than the board's silence is grey and dated on every card, and never green, also while
        /// the broker still takes the board for online.
        @Test func aSilentBoardShowsNothingAsLive() async throws {
            let rig = try await BrowserRig.onBoard("machine", agent: ["sensor.rate=200Hz", "mqtt.keep_alive=600s"])
            let browser = rig.browser
            #expect(await browser.shows("jostlePage.samples > 0 && document.querySelector('.at-health .fine')"))
            #expect(try browser.value(Self.old) == "")
            let agent = try #require(rig.agent)
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            // Its last word may come after its last sample.
            try rig.observer.publish("jostle/dut/health", #"{"t":\#(Int64(Date().timeIntervalSince1970 * 1000))}"#)
            #expect(await browser.shows("\(Self.banner).innerText.startsWith('No samples arrive since ')"))
            for card in ["attitude", "live", "vibration", "health", "settings", "force"] {
                let date = "document.querySelector('.at-\(card).old .dated')?.innerText"
                #expect(await browser.shows("\(date)?.startsWith('As of ')"), "\(card)")
            }
            for tab in try rig.tabs() {
                try await rig.openTab(tab)
                let found = try #require(try browser.run(Self.green) as? [String])
                #expect(found.isEmpty, "\(tab): \(found)")
            }
            #expect(await browser.shows("!document.querySelector('.states').innerText.includes('online')"))
            #expect(try browser.value("document.getElementById('contact').textContent") == "silent")
            try await rig.openTab("overview")
            agent.signal(SIGCONT)
            #expect(await browser.shows("\(Self.banner).hidden && \(Self.old) === ''"))
            agent.kill()
            #expect(await browser.shows("\(Self.banner).innerText.startsWith('The board is offline since')"))
            #expect(await browser.shows("document.querySelectorAll('.card.old').length >= 6"))
            let offline = try #require(try browser.run(Self.green) as? [String])
            #expect(offline.isEmpty, "\(offline)")
            try rig.expectQuietConsole()
        }

        /// Requirement: the same for a board that is silent from the beginning: what the broker has kept is not live.
        @Test func aBoardThatNeverSpeaksIsSilent() async throws {
            let rig = try await BrowserRig()
            let kept = [
                "availability": "online", "state": #"{"t":1700000000000,"moving":false}"#,
                "config/reported": #"{"t":1700000000000,"settings":{"publish":{"attitude":{"heartbeat":"10s"}}}}"#,
            ]
            for (end, text) in kept { try rig.observer.publish("jostle/dut/\(end)", text, retain: true) }
            try rig.open("/?board=dut")
            #expect(await rig.browser.shows("\(Self.banner).innerText.startsWith('No samples arrive')"))
            #expect(await rig.browser.shows("document.getElementById('contact').textContent === 'silent'"))
            #expect(await rig.browser.shows("document.querySelectorAll('.card.old').length >= 6"))
            try rig.expectQuietConsole()
        }

        /// Requirement: while sensing is stopped, nothing looks as if it went on, and the answers do not fill themselves.
        @Test func aStoppedBoardShowsNothingAsLive() async throws {
            let rig = try await BrowserRig.onBoard("machine", agent: ["sensor.rate=200Hz"])
            let browser = rig.browser
            #expect(await browser.shows("document.querySelector('.states').innerText.includes('is up')"))
            try rig.observer.publish("jostle/dut/command/stop")
            #expect(await browser.shows("\(Self.banner).innerText.startsWith('Sensing is stopped since')"))
            for card in ["attitude", "live", "vibration"] {
                #expect(await browser.shows("document.querySelector('.at-\(card).old')"), "\(card)")
            }
            let states: String = try browser.value("document.querySelector('.states').innerText")
            #expect(!states.contains("is up") && states.contains("stopped"), "\(states)")
            let refused = await rig.observer.sees { observer in
                observer.texts("command/stream/result").contains { $0.contains("\"ok\":false") }
            }
            #expect(refused, "the page asks again for every sample")
            #expect(await browser.shows("document.querySelector('.answers').innerText.includes('stop')"))
            #expect(try browser.value("document.querySelector('.answers').innerText.includes('stream')") == false)
            try rig.observer.publish("jostle/dut/command/start")
            #expect(await browser.shows("\(Self.banner).hidden && \(Self.old) === ''"))
            try rig.expectQuietConsole()
        }

        /// Requirement: an id that nobody has is no empty board, and a refusal of the server is no loss of contact.
        @Test func whatThereIsNotIsSaidInWords() async throws {
            let rig = try await BrowserRig("rest")
            let browser = rig.browser
            try rig.open("/?board=nobody")
            #expect(await browser.shows("\(Self.banner).innerText.startsWith('This broker knows no board “nobody”')"))
            #expect(await browser.shows("document.getElementById('contact').textContent === 'unknown board'"))
            try browser.open(rig.page.base + "/?board=no%20id")
            #expect(await browser.shows("\(Self.banner).innerText.includes('the board has no valid id')"))

            let cookie = try rig.cookie()
            var streams: [PageStreamReader] = []
            let isFull = await eventually {
                if let stream = try? PageStreamReader(rig.page, "view=boards", cookie) { streams.append(stream) }
                return streams.count == 32
            }
            #expect(isFull, "\(streams.count)")
            try browser.open(rig.page.base + "/?board=dut")
            #expect(await browser.shows("\(Self.banner).innerText.includes('Too many pages are open.')"))
            // A question that is never answered, and then the answer of a proxy.
            try browser.run(
                """
                const [ask, now] = [fetch, Date.now];
                window.asked = 0;
                window.fetch = (url, ...rest) => {
                  if (!url.startsWith("events")) return ask(url, ...rest);
                  asked += 1;
                  return asked === 1 ? new Promise(() => {}) : Promise.resolve(new Response("<h1>", { status: 404 }));
                };
                window.wait = (seconds) => { Date.now = () => now() + 1000 * seconds; };
                """)
            #expect(await browser.shows("asked === 1"))
            try browser.run("wait(30)")
            #expect(await browser.shows("asked > 2"), "it asks again")
            #expect(await browser.shows("\(Self.banner).innerText.startsWith(\"No contact with the page's server\")"))
            streams = []
            #expect(await browser.shows("\(Self.banner).hidden && jostlePage.samples > 0"), "it goes on by itself")

            try browser.open(rig.page.base + "/?board=no%20id")
            #expect(await browser.shows("\(Self.banner).innerText.includes('the board has no valid id')"))
            try browser.click("#all-boards")
            #expect(await browser.shows("\(Self.banner).hidden"), "another view is not refused")
            let others = try browser.complaints().filter { !$0.contains("400") && !$0.contains("503") }
            #expect(others.isEmpty, "\(others)")
        }

        /// Requirement: a tab that nobody sees asks for no samples.
        @Test func aHiddenTabEndsItsStream() async throws {
            let rig = try await BrowserRig.onBoard("rest")
            // A headless browser hides no tab, so the page is told that it is hidden; its ten seconds pass faster.
            try rig.browser.run(
                """
                const [close, wait] = [EventSource.prototype.close, window.setTimeout];
                window.closings = 0;
                EventSource.prototype.close = function () { closings += 1; close.call(this); };
                window.setTimeout = (call, delay, ...rest) => wait(call, delay === 10000 ? 300 : delay, ...rest);
                window.hide = (isHidden) => {
                  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
                  document.dispatchEvent(new Event("visibilitychange"));
                };
                hide(true);
                """)
            #expect(await rig.browser.shows("closings === 1"))
            let samples: Int = try rig.browser.value("jostlePage.samples")
            #expect(try rig.browser.value("\(Self.banner).hidden"))
            try rig.browser.run("hide(false)")
            #expect(await rig.browser.shows("jostlePage.samples > \(samples)"))
            // A short look elsewhere keeps the connection.
            try rig.browser.runAndWait(
                "hide(true); hide(false); await new Promise((go) => setTimeout(go, 600)); return true")
            #expect(try rig.browser.value("closings") == 1)
            try rig.expectQuietConsole()
        }
    }
}
