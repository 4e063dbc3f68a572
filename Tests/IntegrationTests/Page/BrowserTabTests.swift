import BrokerTestSupport
import Foundation
import Testing

extension BrowserTests {
    /// The tabs of a board.
    @Suite struct Tabs {
        private static let selected =
            "[...document.querySelectorAll('[role=tab][aria-selected=true]')].map((one) => one.id).join()"
        private static let cards =
            "[...document.querySelectorAll('.card')].filter((one) => one.getClientRects().length > 0).map((one) => one.className.replace('card at-', '')).join()"

        /// Requirement: each tab has an address, and the browser goes back and forward between them.
        @Test func eachTabHasAnAddress() async throws {
            let rig = try await BrowserRig.onBoard("rest")
            let browser = rig.browser
            #expect(try browser.value(Self.selected) == "tab-overview", "the address without a tab")
            #expect(try browser.value(Self.cards) == "attitude,gestures,health")
            try await rig.openTab("settings")
            try await rig.openTab("health")
            #expect(try browser.value("location.search") == "?board=dut&tab=health")
            #expect(try browser.value(Self.cards) == "health")
            try browser.command("POST", "/back")
            #expect(
                await browser.shows(
                    "location.search === '?board=dut&tab=settings' && \(Self.selected) === 'tab-settings'"))
            try browser.command("POST", "/back")
            #expect(await browser.shows("location.search === '?board=dut' && \(Self.selected) === 'tab-overview'"))
            try browser.command("POST", "/forward")
            #expect(await browser.shows("\(Self.cards) === 'settings,force'"))
            for (address, tab) in [("vibration", "vibration"), ("nothing", "overview")] {
                try browser.open(rig.page.base + "/?board=dut&tab=\(address)")
                #expect(await browser.shows("\(Self.selected) === 'tab-\(tab)'"), "\(address)")
            }
            try rig.expectQuietConsole()
        }

        /// Requirement: the tabs are one stop of the Tab key; arrow keys go along them, Enter and Space open one.
        @Test func tabsAreReachedByKeyboard() async throws {
            let rig = try await BrowserRig.onBoard("rest")
            let browser = rig.browser
            let focused = "document.activeElement.id"
            try browser.run("document.getElementById('tab-overview').focus()")
            try browser.press(.right, times: 2)
            #expect(try browser.value(focused) == "tab-gestures")
            #expect(try browser.value(Self.selected) == "tab-overview", "the focus alone opens nothing")
            try browser.press(.enter)
            #expect(await browser.shows("\(Self.selected) === 'tab-gestures' && \(focused) === 'tab-gestures'"))
            try browser.press(.left, times: 3)
            #expect(try browser.value(focused) == "tab-\(try rig.tabs().last ?? "")", "round the end")
            try browser.press(.space)
            #expect(
                await browser.shows("\(Self.selected) === \(focused) && location.search.endsWith(\(focused).slice(4))"))
            let stops: Int = try browser.value(
                "[...document.querySelectorAll('[role=tab]')].filter((one) => one.tabIndex === 0).length")
            #expect(stops == 1)
            let names: [String] = try browser.value(
                "['aria-controls', 'aria-labelledby'].map((name) => document.querySelector(`[${name}]`)).map((one) => one.role)"
            )
            #expect(names == ["tab", "tabpanel"])
            try rig.expectQuietConsole()
        }

        /// Requirement: a board is asked for every sample only while a tab or a recording needs them.
        @Test func samplesAreAskedForWhereTheyAreNeeded() async throws {
            let rig = try await BrowserRig.onBoard("rest", agent: ["sensor.rate=200Hz"])
            let browser = rig.browser
            // What would take ten seconds passes faster.
            try browser.run(
                """
                const wait = setTimeout;
                window.setTimeout = (call, delay, ...rest) => wait(call, delay === 10000 ? 100 : delay, ...rest);
                const open = EventSource;
                window.asked = [];
                window.EventSource = class extends open {
                  constructor(url) {
                    super(url);
                    asked.push(url.includes("stream=1"));
                  }
                };
                """)
            func streams() async throws -> Bool {
                let samples: Int = try browser.value("jostlePage.samples")
                return await browser.shows("jostlePage.samples > \(samples + 100)")
            }
            #expect(try await streams())
            try await rig.openTab("settings")
            #expect(await browser.shows("asked.join() === 'false'"))
            try await rig.openTab("health")
            try await rig.openTab("motion")
            #expect(await browser.shows("asked.join() === 'false,true'"))
            #expect(try await streams())
            try browser.clickButton("Record")
            try await rig.openTab("settings")
            #expect(try await streams(), "a recording goes on")
            #expect(try browser.value("asked.join()") == "false,true")
            try rig.expectQuietConsole()
        }

        /// Requirement: a board with a magnetometer shows its heading and how sure that is; other boards show no compass.
        @Test func aCompassShowsTheHeading() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "motion")
            let browser = rig.browser
            #expect(try browser.value(Self.cards) == "attitude,live")
            func publish(_ quality: String, _ heading: Double) throws {
                let now = Int(Date().timeIntervalSince1970 * 1000)
                try rig.observer.publish(
                    "jostle/compass/attitude",
                    #"{"t":\#(now),"roll":0,"pitch":0,"yaw":0,"q":[1,0,0,0],"heading":\#(heading),"heading_deviation":2.5,"heading_quality":"\#(quality)"}"#
                )
            }
            try rig.observer.publish("jostle/compass/availability", "online", retain: true)
            try browser.open(rig.page.base + "/?board=compass&tab=motion")
            #expect(await browser.shows("document.querySelector('.states')?.innerText.includes('online')"))
            try publish("tracking", 123.4)
            #expect(await browser.shows("\(Self.cards) === 'attitude,live,compass'"))
            let text = "document.querySelector('.at-compass').innerText"
            #expect(await browser.shows("\(text).includes('123.4°') && \(text).includes('± 2.5°')"))
            #expect(
                try browser.value("document.querySelector('.needle').getAttribute('transform')")
                    == "rotate(123.4 100 100)")
            #expect(
                try browser.value(
                    "\(text).includes('follows the field of the earth') && \(text).includes('not calibrated')"))
            try publish("disturbed", 90)
            try rig.observer.publish(
                "jostle/compass/health",
                #"{"problems":[],"magnetometer":{"name":"AK8963","state":"measuring","readings":1200,"failures":1,"field":48.25},"calibration":{"magnetometer":"file"}}"#
            )
            #expect(
                await browser.shows("\(text).includes('The gyroscope keeps the heading') && \(text).includes('48.3')"))
            #expect(
                await browser.shows("\(text).includes('AK8963, measuring') && \(text).includes('calibrated: file')"))
            try rig.expectQuietConsole()
        }

        /// Requirement: the readings of the magnetometer lie on a sphere if it is calibrated; how much of it was seen and how
        /// far they are off it stands in words. At rest nothing is drawn anew.
        @Test func theFieldIsDrawnOnASphere() async throws {
            let rig = try await BrowserRig.onBoard(
                "slow-turn", tab: "motion", agent: ["sensor.magnetometer=true", "sensor.rate=100Hz"])
            let browser = rig.browser
            let canvas = "document.querySelector('.sphere canvas')"
            let text = "document.querySelector('.sphere').innerText"
            // Nothing is drawn out of sight, and what comes above it may push it out of sight again.
            let scroll = "document.querySelector('.sphere:not([hidden])').scrollIntoView()"
            #expect(
                await browser.shows("(\(scroll), Number(\(canvas).dataset.readings) >= 5)"), "of a real agent")
            let isEarly = "\(text).includes('Turn the board in all directions')"
            #expect(await browser.shows("/\\d\\s%/.test(\(text)) && \(isEarly)"))

            try rig.observer.publish("jostle/compass/availability", "online", retain: true)
            try browser.open(rig.page.base + "/?board=compass&tab=motion")
            #expect(await browser.shows("document.querySelector('.states')?.innerText.includes('online')"))
            // The page asks the board when it has subscribed to everything of it.
            #expect(await rig.observer.sees { !$0.messages("command/stream", of: "compass").isEmpty })
            let start = Date().timeIntervalSince1970 * 1000
            var sent = 0
            /// Publishes readings, ten in a message.
            func publish(_ readings: [(Double, Double, Double)]) throws {
                for from in stride(from: 0, to: readings.count, by: 10) {
                    let rows = readings[from..<min(from + 10, readings.count)]
                        .map { "[\($0.0),\($0.1),\($0.2)]" }.joined(separator: ",")
                    try rig.observer.publish(
                        "jostle/compass/stream",
                        #"{"seq":\#(sent),"n":\#(sent),"t":\#(start + 20 * Double(sent)),"acceleration":[[0,0,9.8]],"field":[\#(rows)]}"#
                    )
                    sent += 1
                }
            }
            /// 200 readings all around, whose middle is off in x, µT.
            func sphere(_ offset: Double) -> [(Double, Double, Double)] {
                (0..<200).map { index in
                    let place = Double(index)
                    let z = 1 - (2 * place + 1) / 200
                    let turn = 2.4 * place
                    let radius = 48 * (1 - z * z).squareRoot()
                    return (offset + radius * cos(turn), radius * sin(turn), 48 * z)
                }
            }
            try rig.observer.publish(
                "jostle/compass/attitude",
                #"{"t":\#(Int(start)),"roll":0,"pitch":0,"yaw":0,"q":[1,0,0,0],"heading":9,"heading_deviation":2.5,"heading_quality":"tracking"}"#
            )
            try publish(sphere(0))
            #expect(await browser.shows("(\(scroll), \(canvas)?.dataset.readings === '200')"))
            let label = "\(canvas).getAttribute('aria-label')"
            #expect(await browser.shows("\(text).includes('The readings lie on the sphere')"))
            let said: String = try browser.value(label)
            #expect(said.contains(/(9\d|100)\s% of the sphere seen/), "\(said)")
            #expect(said.hasSuffix("strength 48.0\u{a0}µT, deviation 0.0\u{a0}µT RMS"), "\(said)")

            // At rest there is only noise.
            try publish([(0, 0, -48)])
            #expect(await browser.shows("\(canvas).dataset.readings === '201'"))
            let picture: String = try browser.value("\(canvas).toDataURL()")
            // Types are given because the compiler searches for them for three seconds otherwise.
            let noise = (0..<60).map { index -> (Double, Double, Double) in
                let (x, y) = (Double(index % 3), Double(index % 2))
                return (0.5 * x, 0.3 * y, -48)
            }
            try publish(noise)
            #expect(await browser.shows("jostlePage.samples >= 27"))
            try browser.runAndWait("await new Promise((go) => setTimeout(go, 1200)); return true")
            #expect(try browser.value("\(canvas).toDataURL()") == picture)

            // A magnet on the board.
            try browser.clickButton("Start again")
            #expect(await browser.shows("\(canvas).dataset.readings === '0'"))
            try publish(sphere(25))
            #expect(await browser.shows("\(text).includes('far off the sphere')"))
            #expect(try browser.value("\(canvas).toDataURL()") != picture)
            try rig.expectQuietConsole()
        }
    }
}
