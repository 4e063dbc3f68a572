import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

extension BrowserTests {
    /// The history answers what happened to a board, to eyes and to screen readers.
    @Suite struct History {
        private static let table = "document.querySelector('.at-history tbody').innerText"

        private func publish(_ rig: BrowserRig, _ topic: String, _ text: String, retain: Bool = true) throws {
            try rig.observer.publish(
                MQTTMessage(topic: "jostle/dut/\(topic)", text: text, qos: .atLeastOnce, retain: retain))
        }

        private func shake(_ rig: BrowserRig, _ id: String, _ time: Date, _ more: String = "") throws {
            try publish(
                rig, "event/shake",
                #"{"id":"\#(id)","t":\#(Int(time.timeIntervalSince1970 * 1000)),"gesture":"shake","phase":"ended"\#(more)}"#,
                retain: false)
        }

        @Test func whatHappenedIsFoundByTime() async throws {
            let rig = try await BrowserRig()
            let browser = rig.browser
            try publish(rig, "availability", "online")
            try rig.open("/?board=dut")
            #expect(await browser.shows("document.querySelector('.pill.ok')"))
            let isLoaded = "performance.getEntriesByType('resource').some((one) => one.name.endsWith('timeline.js'))"
            #expect(try browser.value("!\(isLoaded)"), "nothing is loaded before it is in sight")
            let then = Date().addingTimeInterval(-5 * 3600)
            try shake(rig, "a-1", then, #","strength":14.2,"duration":0.9,"axis":"x","simulated":true,"delayed":true"#)
            try shake(rig, "a-2", Date(), #","gesture2":"<img src=x onerror=alert(1)>","direction":"<b>left</b>""#)
            try publish(rig, "state", #"{"t":1,"moving":true,"side":"+z","vibrating":true,"vibration":0.4,"tilt":12}"#)
            try publish(rig, "health", #"{"problems":["sensor"],"uptime":7}"#)
            try await rig.observer.catchUp()
            try await rig.openTab("history")
            #expect(await browser.shows("\(Self.table).includes('problem: sensor')"))
            let text: String = try browser.value(Self.table)
            for part in ["vibrating", "+z is up", "shake ended", "<b>left</b>"] {
                #expect(text.contains(part), "\(part): \(text)")
            }
            // The newest row is the current one.
            #expect(try browser.value("document.querySelector('.at-history .current')?.innerText.includes('problem')"))

            // What was at that time, by a field for the time.
            let format = DateFormatter()
            format.dateFormat = "yyyy-MM-dd HH:mm:ss"
            format.locale = Locale(identifier: "en_US_POSIX")
            try browser.run(
                """
                const field = document.querySelector(".at-history input[type=text]");
                field.value = arguments[0];
                field.dispatchEvent(new Event("change"));
                """, format.string(from: then.addingTimeInterval(30)))
            let current = "document.querySelector('.at-history .current')?.innerText"
            #expect(await browser.shows("\(current)?.includes('14.2')"))
            let row: String = try browser.value(current)
            #expect(row.contains("simulated") && row.contains("axis x") && row.contains("delayed"), "\(row)")
            #expect(try browser.value("document.querySelector('.at-history select').value") == "3600000")

            // By keyboard: the slider moves the cursor, plus and minus zoom.
            let status = "document.querySelector('.at-cursor').textContent"
            let before: String = try browser.value(status)
            try browser.run("document.querySelector('.at-history input[type=range]').focus()")
            try browser.press(.left, times: 20)
            #expect(await browser.shows("\(status) !== \(Self.quoted(before))"))
            try browser.type("-")
            #expect(await browser.shows("document.querySelector('.at-history select').value === ''"))
            let label = "document.querySelector('.at-history canvas').getAttribute('aria-label')"
            #expect(try browser.value("/^History from .* to .*: \\d+ entries/.test(\(label))"))

            // By mouse: drag, click, wheel.
            let shown: String = try browser.value(label)
            try browser.run(
                """
                const canvas = document.querySelector(".at-history canvas");
                canvas.setPointerCapture = () => {};
                const box = canvas.getBoundingClientRect();
                const send = (name, x) => canvas.dispatchEvent(new PointerEvent(name, { clientX: box.left + x, clientY: box.top + 20, button: 0, bubbles: true }));
                send("pointerdown", 200);
                send("pointermove", 400);
                send("pointerup", 400);
                """)
            #expect(await browser.shows("\(label) !== \(Self.quoted(shown))"))
            let dragged: String = try browser.value(label)
            try browser.run(
                """
                document.querySelector(".at-history canvas").dispatchEvent(new WheelEvent("wheel", { deltaY: -100, ctrlKey: true, cancelable: true }));
                """)
            #expect(await browser.shows("\(label) !== \(Self.quoted(dragged))"))
            try browser.clickButton("Now")
            #expect(await browser.shows("\(status).includes('Until now')"))
            #expect(try browser.value("document.querySelectorAll('.at-history img, .at-history tbody b').length === 0"))
            try rig.expectQuietConsole()
        }

        private static func quoted(_ text: String) -> String {
            let data = try? JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed)
            return String(decoding: data ?? Data(), as: UTF8.self)
        }

        /// Requirement: the last lines of the board's log are shown where the board permits it.
        @Test func lastLinesOfTheLogAreShown() async throws {
            let rig = try await BrowserRig.onBoard(
                "rest", agent: ["commands.allow=[stream, log, ping]"], page: ["page.control=true"])
            #expect(await rig.browser.shows("document.body.innerText.includes('Show the last log lines')"))
            try rig.observer.publish("jostle/dut/command/ping")
            #expect(await rig.observer.sees { !$0.messages("command/ping/result").isEmpty })
            try rig.browser.clickButton("Show the last log lines")
            #expect(await rig.browser.shows("document.querySelector('.lines').innerText.includes('command ping')"))
            let lines: String = try rig.browser.value("document.querySelector('.lines li:last-child').innerText")
            #expect(lines.contains(":"), "\(lines)")
            #expect(try rig.browser.value("!document.querySelector('.answers').innerText.includes('log')"))
            try rig.expectQuietConsole()
        }

        @Test func lastLinesOfTheLogAreOnlyOfferedWhereTheyArePermitted() async throws {
            let rig = try await BrowserRig.onBoard("rest", page: ["page.control=true"])
            #expect(await rig.browser.shows("document.querySelector('.at-settings .setting')"))
            #expect(try rig.browser.value("!document.body.innerText.includes('Show the last log lines')"))
        }
    }
}
