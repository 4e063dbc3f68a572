import Foundation
import Testing

extension BrowserTests {
    /// The log of gestures and the plots follow the board.
    @Suite struct Gestures {
        /// Records each change of the log: when, and the text of the row.
        private static let watching = """
            const log = document.querySelector(".log");
            window.logged = [];
            new MutationObserver((changes) => {
              const at = Date.now();
              const rows = new Set(changes.flatMap(({ target, addedNodes }) => [target, ...addedNodes])
                .map((node) => (node.nodeType === 1 ? node : node.parentElement)?.closest?.("li")).filter(Boolean));
              for (const row of rows) {
                logged.push({ at, title: row.querySelector("b").textContent, phase: row.querySelector(".phase").textContent,
                  details: row.querySelector(".details").textContent, kind: row.className });
              }
            }).observe(log, { childList: true, subtree: true, characterData: true });
            """

        private func rows(_ browser: Browser) throws -> [[String: Any]] {
            try browser.value("window.logged")
        }

        @Test func aShakeAppearsWithItsPhasesAndStrength() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "commands", page: ["page.control=true"])
            try rig.browser.run(Self.watching)
            try rig.browser.clickButton("Simulate")
            #expect(await rig.browser.shows("logged.some((one) => one.title === 'shake' && one.phase === 'ended')"))

            try await rig.observer.catchUp()
            let events = try rig.observer.objects("event/shake")
            let rows = try rows(rig.browser).filter { $0["title"] as? String == "shake" }
            for phase in ["began", "ended"] {
                let event = try #require(events.first { $0["phase"] as? String == phase })
                let row = try #require(rows.first { $0["phase"] as? String == phase })
                let shown = try #require(row["at"] as? Double)
                let delay = shown - (try #require(event["t"] as? Double))
                print("browser: shake \(phase) shown \(Int(delay)) ms after its time")
                // The machine may be busy with other tests.
                #expect(delay < 5000)
                #expect(row["kind"] as? String == phase)
            }
            let end = try #require(events.last { $0["phase"] as? String == "ended" })
            let value = try #require(end["strength"] as? Double)
            let strength = String(format: "%.1f\u{A0}m/s²", value)
            let details = try #require(rows.last?["details"] as? String)
            #expect(details.contains(strength) && details.contains("simulated"), "\(details), not \(strength)")
            let count: Int = try rig.browser.value(
                """
                [...document.querySelectorAll(".log li.ended")].filter((row) => row.textContent.includes("shake")).length
                """)
            #expect(count == 1, "all phases of a gesture are one row")
            try rig.expectQuietConsole()
        }

        @Test func aCancelledGestureAndANearMissSayWhy() async throws {
            let rig = try await BrowserRig.onBoard("shake")
            try rig.browser.run(Self.watching)
            // A strong shake is almost a tap and a flick too.
            #expect(await rig.browser.shows("logged.some((one) => one.kind === 'missed')"))
            let miss = try #require(try rows(rig.browser).last { $0["kind"] as? String == "missed" })
            try await rig.observer.catchUp()
            let texts = try rig.observer.objects("near-miss").compactMap { $0["text"] as? String }
            let title = try #require(miss["title"] as? String)
            #expect(texts.contains(title), "\(title), \(texts)")

            let states = "document.querySelector('.states').innerText"
            var cancelled: [String: Any]?
            // A gesture may end before "stop" arrives: then the next one.
            for _ in 0..<5 where cancelled == nil {
                try rig.browser.run("logged.length = 0")
                #expect(await rig.browser.shows("logged.some((one) => one.phase === 'began')"))
                // Sensing stops while the gesture goes on.
                try rig.observer.publish("jostle/dut/command/stop")
                #expect(await rig.browser.shows("\(states).includes('sensing is stopped')"))
                cancelled = try rows(rig.browser).last { $0["phase"] as? String == "cancelled" }
                try rig.observer.publish("jostle/dut/command/start")
                #expect(await rig.browser.shows("!\(states).includes('sensing is stopped')"))
            }
            let details = try #require(cancelled?["details"] as? String)
            #expect(details.contains("sensing or the agent stopped"), "\(details)")
            try rig.expectQuietConsole()
        }

        /// Requirement: one press says that a gesture was none, or that one was missed; the board keeps a recording with a label.
        @Test func aPressSaysWhatItWas() async throws {
            let rig = try await BrowserRig.onBoard(
                "shake", tab: "gestures", agent: ["commands.allow=[keep, recordings, stream]", "recorder.on=[fall]"],
                page: ["page.control=true"])
            let isOffered =
                "[...document.querySelectorAll('.verdict')].some((one) => !one.hidden && one.textContent === 'No shake')"
            #expect(await rig.browser.shows(isOffered))
            try rig.browser.clickButton("No shake")
            let status = "document.querySelector('.at-gestures [role=status]').textContent"
            #expect(await rig.browser.shows("\(status).startsWith('Kept as recording-000001-keep.csv')"))
            try rig.browser.run("document.querySelector('.at-gestures select').value = 'tap'")
            try rig.browser.clickButton("I did it, and nothing happened")
            #expect(await rig.browser.shows("\(status).startsWith('Kept as recording-000002-keep.csv')"))
            try rig.observer.publish("jostle/dut/command/recordings")
            await rig.observer.expect { observer in
                let list = try observer.objects("command/recordings/result").last?["recordings"] as? [[String: Any]]
                return list?.map { $0["labels"] as? [String] } == [["not shake"], ["tap"]]
            }
            try rig.expectQuietConsole()
        }

        /// Requirement: without control, or at a board that does not permit it, nothing can be said.
        @Test func nobodySaysWhatIsNotPermitted() async throws {
            let rig = try await BrowserRig.onBoard("shake", tab: "gestures", page: ["page.control=true"])
            #expect(await rig.browser.shows("document.querySelector('.log .ended') !== null"))
            let buttons: Int = try rig.browser.value(
                "[...document.querySelectorAll('.at-gestures button')].filter((one) => one.getClientRects().length > 0).length"
            )
            #expect(buttons == 0)
            try rig.expectQuietConsole()
        }

        /// Requirement: curves go on after quick scrolling, also while the page is busy.
        @Test func plotsOutliveQuickScrolling() async throws {
            let rig = try await BrowserRig.onBoard("demo", tab: "motion", agent: ["sensor.rate=200Hz"])
            try rig.browser.resize(1280, 300)
            let scrolling = """
                const picture = () => document.querySelector(".at-live canvas").toDataURL();
                for (let step = 0; step < 8; step += 1) {
                  scrollTo(0, step % 2 ? 0 : 1e6);
                  await new Promise(requestAnimationFrame);
                  const begin = performance.now();
                  while (performance.now() < begin + 200);
                }
                scrollTo(0, 0);
                await new Promise((go) => setTimeout(go, 500));
                const before = picture();
                for (let wait = 0; wait < 20; wait += 1) {
                  await new Promise((go) => setTimeout(go, 100));
                  if (picture() !== before) return true;
                }
                return false;
                """
            for round in 0..<6 {
                #expect(try rig.browser.runAndWait(scrolling) as? Bool == true, "frozen in round \(round)")
            }
            try rig.expectQuietConsole()
        }

        /// Requirement: a board at rest costs no frame, but where curves move on in sight.
        @Test func atRestNothingIsDrawn() async throws {
            let rig = try await BrowserRig.onBoard("rest", agent: ["sensor.rate=200Hz"], page: ["page.control=true"])
            let measuring = """
                for (let attempt = 0; attempt < 5; attempt += 1) {
                  await new Promise((go) => setTimeout(go, 500));
                  const frames = jostlePage.frames;
                  await new Promise((go) => setTimeout(go, 1000));
                  if (jostlePage.frames - frames <= 1) return true;
                }
                return false;
                """
            for tab in try rig.tabs() where tab != "motion" {
                try await rig.openTab(tab)
                #expect(try rig.browser.runAndWait(measuring) as? Bool == true, "\(tab)")
            }
            try await rig.openTab("motion")
            let frames: Int = try rig.browser.value("jostlePage.frames")
            #expect(await rig.browser.shows("jostlePage.frames > \(frames + 5)"), "they go on in sight")
            try rig.browser.resize(1280, 300)
            try rig.browser.run(
                "scrollTo(0, 1e6); document.querySelector('.at-live').style.marginBottom = '1000px'; scrollTo(0, 1e6)")
            #expect(try rig.browser.runAndWait(measuring) as? Bool == true, "the curves are out of sight")
            try rig.expectQuietConsole()
        }

        /// Requirement: a gesture is one row, whatever the number of its phases, also if it began before anybody looked.
        @Test func allPhasesOfATurnAreOneRow() async throws {
            let rig = try await BrowserRig()
            var number = 0
            func publish(_ gesture: String, _ phases: String...) throws {
                for phase in phases {
                    number += 1
                    let text =
                        #"{"id":"a-\#(number)","t":1795182603123,"gesture":"\#(gesture)","phase":"\#(phase)","angle":\#(number)}"#
                    try rig.observer.publish("jostle/dut/event/\(gesture)", text)
                }
            }
            try rig.observer.publish("jostle/dut/availability", "online", retain: true)
            try rig.open("/?board=dut&tab=gestures")
            let rows =
                "[...document.querySelectorAll('.log li')].map((row) => row.querySelector('b').textContent + row.querySelector('.phase').textContent)"
            #expect(await rig.browser.shows("document.querySelector('.states').innerText.includes('online')"))
            try publish("turn", "changed", "changed", "ended")
            try publish("turn", "began", "changed", "changed", "changed", "ended")
            try publish("shake", "began", "cancelled")
            #expect(await rig.browser.shows("\(rows).join() === 'shakecancelled,turnended,turnended'"))
            try rig.expectQuietConsole()
        }

        /// Requirement: shortcuts with a single key can be switched off, for who talks to the computer (WCAG 2.1.4).
        @Test func shortcutsCanBeSwitchedOff() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "motion")
            try rig.browser.click("#shortcuts")
            try rig.browser.run("document.activeElement.blur()")
            try rig.browser.type("p")
            #expect(try rig.browser.value("document.body.innerText.includes('Go on')") == false)
            try rig.browser.open(rig.page.base + "/?board=dut&tab=motion")
            #expect(await rig.browser.shows("document.getElementById('board-3d')?.dataset.t"))
            #expect(try rig.browser.value("document.getElementById('shortcuts').checked") == false, "it stays so")
            try rig.browser.click("#shortcuts")
            try rig.browser.run("document.activeElement.blur()")
            try rig.browser.type("p")
            #expect(await rig.browser.shows("document.body.innerText.includes('Go on')"))
            try rig.expectQuietConsole()
        }

        /// Requirement: plots move with the frames of the display, stop with "p", and go on.
        @Test func plotsMoveWithTheDisplay() async throws {
            let rig = try await BrowserRig.onBoard("demo", tab: "motion", agent: ["sensor.rate=200Hz"])
            // Plots are drawn once the browser has said that they are in sight.
            #expect(await rig.browser.shows("jostlePage.frames >= (window.shown ??= jostlePage.frames) + 5"))
            // How many frames the display had, and in how many of them the page and the plot were drawn.
            let measuring = """
                const canvas = document.querySelector(".at-live canvas");
                const clear = CanvasRenderingContext2D.prototype.clearRect;
                let [drawn, shown] = [0, 0];
                CanvasRenderingContext2D.prototype.clearRect = function (...area) {
                  if (this.canvas === canvas) drawn += 1;
                  clear.apply(this, area);
                };
                const [begin, frames] = [performance.now(), jostlePage.frames];
                for (; shown < 30; shown += 1) await new Promise(requestAnimationFrame);
                CanvasRenderingContext2D.prototype.clearRect = clear;
                return [shown, jostlePage.frames - frames, drawn, (performance.now() - begin) / 1000];
                """
            let counts = try #require(try rig.browser.runAndWait(measuring) as? [Double])
            print("browser: the plot was drawn \(Int(counts[2] / counts[3])) times a second")
            // The first and the last frame may be counted by one and not by the other.
            #expect(abs(counts[1] - counts[0]) <= 1 && abs(counts[2] - counts[0]) <= 1, "\(counts)")

            // What is drawn moves, until "p" stops it.
            let picture = "document.querySelector('.at-live canvas').toDataURL()"
            try rig.browser.run("window.before = \(picture)")
            #expect(await rig.browser.shows("window.before !== \(picture)"))
            try rig.browser.type("p")
            #expect(await rig.browser.shows("document.body.innerText.includes('Go on')"))
            // A scale that is too large still shrinks.
            let stopping = """
                for (let attempt = 0; attempt < 10; attempt += 1) {
                  window.before = \(picture);
                  await new Promise((go) => setTimeout(go, 700));
                  if (window.before === \(picture)) return true;
                }
                return false;
                """
            #expect(try rig.browser.runAndWait(stopping) as? Bool == true)
            try rig.browser.type("p")
            #expect(await rig.browser.shows("window.before !== \(picture)"))
            try rig.expectQuietConsole()
        }
    }
}
