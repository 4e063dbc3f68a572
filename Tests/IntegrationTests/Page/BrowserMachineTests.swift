import BrokerTestSupport
import Foundation
import Testing

extension BrowserTests {
    /// The card about vibration shows how the machine is that carries the board, and takes what somebody knows about it.
    @Suite struct Machine {
        private static let card = "document.querySelector('.at-vibration')"
        private static let alert = "\(card).querySelector('.alert')"

        private static func figure(_ name: String) -> String {
            "[...\(card).querySelectorAll('.figures > div')].find((one) => one.firstChild.textContent === '\(name)')"
        }

        private static var now: Int { Int(Date().timeIntervalSince1970 * 1000) }

        private func publish(_ rig: BrowserRig, _ fields: String) throws {
            let text = #"{"t":\#(Self.now),"confidence":"learnt","runs":12,"runs_today":2,\#(fields)}"#
            try rig.observer.publish("jostle/dut/machine", text, retain: true)
        }

        private func isAsked(_ rig: BrowserRig, _ word: String) async -> Bool {
            await rig.observer.sees { try $0.objects("command/machine").last?["now"] as? String == word }
        }

        private func isShown(_ button: String) -> String {
            "[...\(Self.card).querySelectorAll('button')].some((one) => one.textContent === '\(button)' && !one.hidden)"
        }

        private static let measured = """
            "duration":754,"v_10_90":1.83,"a_10_90":0.412,"below":["a_10_90"],"peak":1.9,"crest":4.6,"kurtosis":3.1,
            "octaves":[-41.2,-38.0,-29.5,-22.1,-30.4],"lines":[[24.8,0.31],[49.6,0.08]],"speed":1488,"zone":"C"
            """

        @Test func aMachineIsShownAndFineIfSomebodySaysSo() async throws {
            let rig = try await BrowserRig.onBoard(
                "rest", tab: "vibration", agent: ["commands.allow=[stream, machine]"], page: ["page.control=true"])
            let browser = rig.browser
            #expect(await browser.shows("\(Self.card).innerText.includes('There is no threshold')"))
            let deviation = #""changed":true,"deviation":{"octave":22.4,"decibels":-4.2,"since":\#(Self.now - 60_000)}"#
            try publish(rig, #""phase":"running",\#(Self.measured),\#(deviation)"#)
            #expect(
                await browser.shows("\(Self.figure("machine"))?.lastChild.textContent === 'running for 12\u{a0}min'"))
            #expect(try browser.value("\(Self.figure("ran today")).lastChild.textContent.endsWith(', 2 runs ended')"))
            let text: String = try browser.value("\(Self.card).innerText.replaceAll('\u{a0}', ' ')")
            for part in [
                "velocity, 10–90 Hz\n1.83 mm/s", "acceleration, 10–90 Hz\nbelow 0.412 m/s²", "speed\n1488 rpm",
                "zone\nC", "from 22.4 to 44.8 Hz it is 4.2 dB weaker than in its earlier runs",
                "Strongest lines: 24.8 Hz with 0.31 m/s², 49.6 Hz with 0.08 m/s² RMS.",
            ] {
                #expect(text.contains(part), "\(part): \(text)")
            }
            let label: String = try browser.value("\(Self.card).querySelector('.machine canvas').ariaLabel")
            #expect(label.replacing("\u{a0}", with: " ").contains("22.4 to 44.8 Hz: −22.1 dB"), "\(label)")

            // The board's word is awaited.
            let agent = try #require(rig.agent)
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            try browser.clickButton("It is fine")
            #expect(await browser.shows("\(Self.card).innerText.includes('Sent, waiting for the board.')"))
            #expect(await isAsked(rig, "fine"))
            #expect(try browser.value("!\(Self.alert).hidden"))
            agent.signal(SIGCONT)
            #expect(await browser.shows("\(Self.card).innerText.includes('Noted: it is as it should be.')"))
            // So it is with what the agent itself publishes, or another one later.
            try publish(rig, #""phase":"paused","duration":900,"quiet_for":40,"changed":false"#)
            #expect(await browser.shows("\(Self.alert).hidden && !\(isShown("It is fine"))"))
            #expect(await browser.shows("\(Self.figure("machine")).innerText.includes('paused, quiet for 4')"))
            #expect(try browser.value("\(Self.card).querySelector('.machine figure').hidden"))

            try browser.clickButton("It is off now")
            #expect(
                await browser.shows("\(Self.card).innerText.includes('Noted: this is what it is like when it is off.')")
            )
            try browser.clickButton("Show what was learnt")
            #expect(await browser.shows("\(Self.card).innerText.includes('No run has ended yet.')"))
            let runs = #"{"t":1700000000000,"duration":5400,"longest_pause":310,"level":0.3,"peak":1.25,"spun":true}"#
            let learnt = #""floors":[-50,-52,null,"x"],"low":[-40],"high":[-30]"#
            try rig.observer.publish("jostle/dut/command/machine/result", #"{"ok":true,\#(learnt),"runs":[\#(runs)]}"#)
            let row = "\(Self.card).querySelector('.machine tbody tr')?.innerText"
            #expect(await browser.shows("\(row)?.includes('1\u{a0}h 30\u{a0}min')"))
            #expect(try browser.value("\(row).includes('1.25') && \(row).includes('yes')"))
            // The run is drawn, and nothing else: there is one of 1.5 h in years.
            let picture = "\(Self.card).querySelector('.machine figure:nth-of-type(2) canvas')"
            #expect(try browser.value("\(picture).ariaLabel.includes('peak, m/s², over time. 1 from')"))
            let bars = """
                (() => {
                  const { width, height } = \(picture);
                  const copy = new OffscreenCanvas(width, 1).getContext('2d', { willReadFrequently: true });
                  copy.drawImage(\(picture), 0, -Math.round(height / 2));
                  return copy.getImageData(0, 0, width, 1).data.filter((value, at) => at % 4 === 3 && value === 255).length;
                })()
                """
            #expect(await browser.shows("\(bars) >= 2 && \(bars) < 12"))
            let title = "\(Self.card).querySelector('.machine figcaption').textContent"
            #expect(try browser.value("\(title).endsWith('; line: off, frame: earlier runs')"))
            #expect(try browser.value("document.querySelector('.answers').childElementCount") == 0)
            try rig.expectQuietConsole()
        }

        /// Requirement: what the board does not permit is not offered, and nothing is shown of a machine that is not there.
        @Test func statementsNeedThePermissionOfTheBoard() async throws {
            let rig = try await BrowserRig(page: ["page.control=true"])
            let browser = rig.browser
            func report(_ allowed: String) throws {
                let text = #"{"settings":{"commands":{"allow":[\#(allowed)]}}}"#
                try rig.observer.publish("jostle/dut/config/reported", text, retain: true)
            }
            try rig.observer.publish("jostle/dut/availability", "online", retain: true)
            try report(#""stream""#)
            try rig.open("/?board=dut&tab=vibration")
            #expect(await browser.shows("document.querySelector('.pill.ok')"))
            #expect(try browser.value("\(Self.card).querySelector('.machine').hidden"))
            #expect(try browser.value("\(Self.figure("machine")).hidden"))
            try publish(rig, #""phase":"off","changed":true"#)
            #expect(await browser.shows("\(Self.figure("machine")).innerText.endsWith('off')"))
            #expect(await browser.shows("\(Self.alert).innerText === 'Not as it was.'"))
            #expect(try browser.value("\(isShown("It is fine")) && !\(isShown("It is off now"))"))
            try report(#""stream", "machine""#)
            #expect(await browser.shows("\(isShown("It is off now")) && \(isShown("It runs now"))"))
            try browser.clickButton("It runs now")
            let refusal = #"{"ok":false,"error":"sensor_unavailable","message":"no samples"}"#
            #expect(await isAsked(rig, "running"))
            try rig.observer.publish("jostle/dut/command/machine/result", refusal)
            let said = "Not done: the sensor is missing or stopped: no samples"
            #expect(await browser.shows("\(Self.card).innerText.includes('\(said)')"))

            try rig.observer.publish("jostle/dut/availability", "offline", retain: true)
            #expect(await browser.shows("\(Self.card).classList.contains('old')"))
            #expect(
                await browser.shows(
                    "[...\(Self.card).querySelectorAll('.machine button')].every((one) => one.disabled)"))
            try rig.expectQuietConsole()
        }

        /// Requirement: that a machine is not as it was is listed among the gestures, and in the history.
        @Test func aDeviationIsListed() async throws {
            let rig = try await BrowserRig()
            let browser = rig.browser
            try rig.observer.publish("jostle/dut/availability", "online", retain: true)
            try rig.open("/?board=dut&tab=gestures")
            #expect(await browser.shows("document.querySelector('.pill.ok')"))
            let event =
                #"{"id":"a-1","t":\#(Self.now),"gesture":"machine","phase":"began","octave":22.4,"decibels":4.2,"since":1,"recording":"r"}"#
            try rig.observer.publish("jostle/dut/event/machine", event)
            let row = "document.querySelector('.log .began')?.innerText.replaceAll('\u{a0}', ' ')"
            #expect(await browser.shows("\(row)?.includes('4.2 dB more from 22.4 to 44.8 Hz')"))
            #expect(try browser.value("\(row).includes('machine')"))
            #expect(try browser.value("document.querySelectorAll('.log .verdict').length") == 0)
            try await rig.openTab("history")
            #expect(
                await browser.shows("document.querySelector('.at-history tbody').innerText.includes('machine began')"))
            try rig.expectQuietConsole()
        }
    }
}
