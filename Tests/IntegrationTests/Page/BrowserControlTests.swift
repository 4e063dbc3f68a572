import BrokerTestSupport
import Foundation
import Testing

extension BrowserTests {
    /// What people change at the page, and what they take from it.
    @Suite struct Control {
        /// Requirement: a setting is shown as in force only when the board has reported it.
        @Test func aSensitivityChangedByKeyboardIsInForceWhenTheBoardSaysSo() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "settings", page: ["page.control=true"])
            let browser = rig.browser
            let slider = "document.getElementById('set-gestures-shake-sensitivity')"
            #expect(await browser.shows("\(slider).value === '5' && !\(slider).disabled"))
            // The board does not read its messages now.
            let agent = try #require(rig.agent)
            agent.signal(SIGSTOP)
            defer { agent.signal(SIGCONT) }
            try browser.run("\(slider).focus()")
            try browser.press(.right, times: 2)
            let note = "document.getElementById('set-gestures-shake-sensitivity-note').textContent"
            #expect(await browser.shows("\(note) === 'Sent, waiting for the board. In force: 5.'"))
            let topic = "jostle/dut/set/gestures.shake.sensitivity"
            #expect(await rig.observer.sees { $0.topics.contains(topic) })
            let inForce = """
                [...document.querySelectorAll(".at-force tbody tr")]
                  .find((row) => row.querySelector("code").textContent === "gestures.shake.sensitivity").cells[1].querySelector("code").textContent
                """
            #expect(try browser.value(inForce) == "5")

            agent.signal(SIGCONT)
            #expect(await browser.shows("\(inForce) === '7'"))
            try await rig.observer.catchUp()
            #expect(try rig.observer.setting("gestures.shake.sensitivity") as? Int == 7)
            #expect(await browser.shows("\(note) === '' && \(slider).value === '7'"))
            try rig.expectQuietConsole()
        }

        /// Requirement: a list is shown as in force only when the board has reported it, and is never empty.
        @Test func directionsOfFlickAreChosenOneByOne() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "settings", page: ["page.control=true"])
            let browser = rig.browser
            let boxes = "[...document.querySelectorAll('#set-gestures-flick-directions input')]"
            let chosen = "\(boxes).filter((box) => box.checked).map((box) => box.value).join()"
            #expect(await browser.shows("\(chosen) === 'left,right,up,down,forward,backward'"))
            func directions() throws -> [Any] {
                let value = try rig.observer.setting("gestures.flick.directions")
                return value as? [Any] ?? value.map { [$0] } ?? []
            }
            func click(_ name: String) throws {
                try browser.click("#set-gestures-flick-directions input[value=\(name)]")
            }
            let note = "document.getElementById('set-gestures-flick-directions-note').textContent"
            for (name, rest) in [
                ("up", "left,right,down,forward,backward"), ("down", "left,right,forward,backward"),
                ("forward", "left,right,backward"), ("backward", "left,right"), ("right", "left"),
            ] {
                try click(name)
                #expect(await browser.shows("\(chosen) === '\(rest)' && \(note) === ''"))
                await rig.observer.expect { _ in try directions() as? [String] == rest.components(separatedBy: ",") }
            }
            try click("left")
            #expect(await browser.shows("\(note) === 'At least one is needed.' && \(chosen) === 'left'"))
            // From elsewhere.
            try rig.observer.publish("jostle/dut/set/gestures.flick.directions", "any")
            #expect(await browser.shows("\(chosen) === 'left,right,up,down,forward,backward'"))
            try rig.expectQuietConsole()
        }

        /// Requirement: a refused value is not shown as in force, and the reason is.
        @Test func aRefusedValueSaysWhy() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "settings", page: ["page.control=true"])
            let slider = "document.getElementById('set-gestures-tap-sensitivity')"
            #expect(await rig.browser.shows("\(slider).value === '5'"))
            try rig.observer.publish("jostle/dut/set/gestures.tap.sensitivity", "99")
            let note = "document.getElementById('set-gestures-tap-sensitivity-note').textContent"
            #expect(await rig.browser.shows("\(note).startsWith('Refused: 99 ')"))
            #expect(try rig.browser.value("\(slider).value") == "5")
            try rig.expectQuietConsole()
        }

        /// Requirement: a setting says what it means, its default and what it allows; a value that was set can be taken back.
        @Test func aSettingIsExplainedAndGoesBackToItsDefault() async throws {
            let rig = try await BrowserRig.onBoard(
                "rest", tab: "settings", agent: ["gestures.tap.sensitivity=3"], page: ["page.control=true"])
            let browser = rig.browser
            func text(_ key: String, _ part: String) -> String {
                "document.getElementById('set-gestures-\(key)-sensitivity-\(part)').innerText"
            }
            let about = "From 1 (only unmistakable gestures) to 10 (even the gentlest). Default: 5, allowed: 1 … 10."
            #expect(await browser.shows("\(text("shake", "about")) === '\(about)'"), "and nothing to take back")
            // Where a value comes from stays on one line.
            let broken = """
                [...document.querySelectorAll(".at-force td:last-child")].filter((cell) => {
                  const range = document.createRange();
                  range.selectNodeContents(cell);
                  // Two lines are at least 34 pixels high.
                  return range.getBoundingClientRect().height > 30;
                }).length
                """
            for width in [360, 760, 1280] {
                try browser.resize(width, 900, isPhone: width < 500)
                #expect(try browser.value(broken) == 0, "\(width)")
            }
            // What is in force is explained too, and can be found by it.
            let rows = "[...document.querySelectorAll('.at-force tbody tr')].filter((row) => !row.hidden)"
            try browser.click(".at-force input[type=search]")
            try browser.type("longest free fall")
            #expect(
                await browser.shows(
                    "\(rows).map((row) => row.querySelector('code').innerText).join() === 'gestures.fall.maximum_duration'"
                ))

            for (key, value) in [("shake", 5), ("tap", 3)] {
                try rig.observer.publish("jostle/dut/set/gestures.\(key).sensitivity", "8")
                let slider = "document.getElementById('set-gestures-\(key)-sensitivity')"
                #expect(
                    await browser.shows("\(slider).value === '8' && \(text(key, "about")).includes('Back to default')"))
                try browser.click("#set-gestures-\(key)-sensitivity-about button")
                #expect(await browser.shows("\(slider).value === '\(value)' && \(text(key, "note")) === ''"))
                #expect(await browser.shows("!\(text(key, "about")).includes('Back to default')"))
                await rig.observer.expect { try $0.setting("gestures.\(key).sensitivity") as? Int == value }
            }
            try rig.expectQuietConsole()
        }

        /// Requirement: of a gesture that is off, nothing but its switch is shown.
        @Test func aGestureThatIsOffIsFoldedAway() async throws {
            let rig = try await BrowserRig.onBoard("rest", tab: "settings", page: ["page.control=true"])
            let slider = "document.getElementById('set-gestures-tilt-sensitivity').getClientRects().length"
            #expect(await rig.browser.shows("\(slider) > 0"))
            try rig.browser.click("#set-gestures-tilt-enabled")
            #expect(await rig.browser.shows("\(slider) === 0"))
            try rig.browser.click("#set-gestures-tilt-enabled")
            #expect(await rig.browser.shows("\(slider) > 0"))
            try rig.expectQuietConsole()
        }

        /// Requirement: what the page saves is a recording that `jostle replay` reads.
        @Test func aSavedRecordingCanBeReplayed() async throws {
            let rig = try await BrowserRig.onBoard("demo", tab: "motion", agent: ["sensor.rate=200Hz"])
            let downloads = rig.browser.directory.path("downloads")
            try rig.browser.chromium("Browser.setDownloadBehavior", ["behavior": "allow", "downloadPath": downloads])
            #expect(await rig.browser.shows("jostlePage.samples > 0"))
            try rig.browser.clickButton("Record")
            let before: Int = try rig.browser.value("jostlePage.samples")
            #expect(await rig.browser.shows("jostlePage.samples > \(before + 600)"))
            try rig.browser.clickButton("Stop and save")
            var (name, text) = ("", "")
            // The browser makes an empty file of that name before it has the content.
            _ = await eventually {
                let files = try? FileManager.default.contentsOfDirectory(atPath: downloads)
                name = files?.first { $0.hasSuffix(".csv") } ?? ""
                text = (try? String(contentsOfFile: downloads + "/" + name, encoding: .utf8)) ?? ""
                return text.hasSuffix("\n")
            }
            try #require(!text.isEmpty, "nothing was saved")
            #expect(name.hasPrefix("dut-20"))
            let rows = text.split(separator: "\n").filter { $0.first?.isNumber == true }
            let times = rows.compactMap { Double($0.prefix { $0 != "," }) }
            #expect(rows.count >= 500 && times.first == 0, "\(rows.count) rows")
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
            try await jostle("replay", downloads + "/" + name).expect(status: 0)
            try rig.expectQuietConsole()
        }

        /// Requirement: a calibration shows as a picture how to turn the board next, as the board says.
        @Test func aCalibrationIsLedByTheBoard() async throws {
            let rig = try await BrowserRig.onBoard(
                "calibration-poses", tab: "commands", agent: ["commands.allow=[stream, calibrate]"],
                page: ["page.control=true"])
            let browser = rig.browser
            #expect(
                await browser.shows("!document.querySelector('[aria-label=\"Calibrate the accelerometer\"]').disabled"))
            try browser.clickButton("Accelerometer")
            #expect(await browser.shows("document.querySelector('.calibration svg')?.getClientRects().length > 0"))
            let title = "document.querySelector('.calibration-title').textContent"
            #expect(await browser.shows("\(title).includes(' of ')"))
            try await rig.observer.catchUp()
            let answer = try #require(try rig.observer.objects("command/calibrate/result").last { $0["pose"] is Int })
            let advice = try #require(answer["advice"] as? String)
            // Such as "with +x-z up".
            let range = try #require(advice.range(of: "([+-][xyz])+(?= up)", options: .regularExpression), "\(advice)")
            let label: String = try browser.value(
                "document.querySelector('.calibration svg').getAttribute('aria-label')")
            var side = advice[range].replacingOccurrences(of: "-", with: "−")
            while !side.isEmpty {
                #expect(label.contains(side.prefix(2)), "\(label): \(advice)")
                side.removeFirst(2)
            }
            try browser.clickButton("Cancel")
            #expect(await browser.shows("\(title) === 'Cancelled'"))
            #expect(await browser.shows("document.querySelector('.answers').textContent.includes('calibrate')"))
            try rig.expectQuietConsole()
        }

        /// Requirement: the magnetometer is calibrated at the page, which shows how much of the turning is done, and which side
        /// to turn up as a picture.
        @Test func theMagnetometerIsCalibrated() async throws {
            let directory = TemporaryDirectory.new()
            let rig = try await BrowserRig.onBoard(
                try directory.write(Recording.turned, to: "turned.csv"), tab: "commands",
                agent: ["commands.allow=[stream, calibrate]", "sensor.magnetometer=true", "sensor.rate=50Hz"],
                page: ["page.control=true"])
            let browser = rig.browser
            #expect(
                await browser.shows("!document.querySelector('[aria-label=\"Calibrate the magnetometer\"]').disabled"))
            try browser.clickButton("Magnetometer")
            let title = "document.querySelector('.calibration-title').textContent"
            #expect(await browser.shows("\(title) === 'Lay the board down and let go'"))
            #expect(await browser.shows("/^Turn it slowly: \\d+\\s% of all/.test(\(title))", within: .seconds(100)))
            let label = "document.querySelector('.calibration svg').getAttribute('aria-label')"
            #expect(await browser.shows("/The board .*[+−][xyz]/.test(\(label))"))
            #expect(await browser.shows("\(title) === 'The magnetometer is calibrated'", within: .seconds(100)))
            #expect(await browser.shows("document.querySelector('.advice').textContent.includes('µT after')"))
            try rig.expectQuietConsole()
        }

        /// Requirement: a gesture is taught at the page: it shows what to do and what the board thinks of each movement, lists what
        /// the board has learned, and has it forgotten.
        @Test func aGestureIsTaught() async throws {
            let directory = TemporaryDirectory.new()
            let rig = try await BrowserRig.onBoard(
                try directory.write(ShownMovement.trajectory([1, 1.05, 0.97]), to: "movement.csv"), tab: "commands",
                agent: ["commands.allow=[stream, learn]", "sensor.rate=50Hz"], page: ["page.control=true"])
            let browser = rig.browser
            #expect(await browser.shows("!document.querySelector('[aria-label=\"Learn a gesture\"]').disabled"))
            try browser.run("document.querySelector('[aria-label=\"Name of the gesture\"]').focus()")
            try browser.type("nod")
            try browser.press(.enter)
            let lesson = "document.querySelector('.lesson')"
            #expect(await browser.shows("\(lesson).innerText.includes('Example 2: ')"))
            #expect(
                await browser.shows("/[▁▂▃▄▅▆▇█]{3}/.test(document.querySelector('.movement:not(:empty)').textContent)")
            )
            #expect(await browser.shows("document.querySelector('.lesson progress').value > 0.2"))
            #expect(await browser.shows("document.querySelector('.lesson-title').textContent === 'nod is learned'"))
            #expect(
                await browser.shows("document.querySelector('.lesson-now').textContent.includes('Recognised 3 of 3.')"))
            #expect(await browser.shows("document.querySelector('.learned').innerText.includes('nod')"))
            #expect(await rig.observer.sees { !$0.messages("event/nod").isEmpty })
            try browser.clickButton("Forget")
            #expect(await browser.shows("document.querySelector('.learned').innerText === ''"))
            #expect(await browser.shows("document.querySelector('.answers').textContent.includes('nod is forgotten')"))
            try rig.expectQuietConsole()
        }

        /// Requirement: a board that is offline is forgotten after a question that names it and what goes, one that is online
        /// is not.
        @Test func aBoardThatIsGoneIsForgotten() async throws {
            let rig = try await BrowserRig.onBoard(
                "rest", tab: "commands", agent: ["device.name=Washing machine"], page: ["page.control=true"])
            let browser = rig.browser
            let card = "document.querySelector('.command.forget')"
            #expect(
                await browser.shows(
                    "\(card).querySelector('button').disabled && \(card).innerText.includes('While it is online it cannot')"
                ))
            rig.agent?.kill()
            #expect(await browser.shows("!\(card).querySelector('button').disabled"))
            try browser.clickButton("Forget this board…")
            #expect(try browser.value("document.activeElement.textContent") == "Keep it")
            for words in [
                "Forget Washing machine (dut)? This removes:", "all that the broker keeps of it", "Home Assistant",
                "its history on this page", "If its agent connects again, the board appears again.",
            ] {
                #expect(await browser.shows("\(card).innerText.includes('\(words)')"), "\(words)")
            }
            try browser.clickButton("Keep it")
            #expect(try browser.value("document.activeElement.textContent") == "Forget this board…")
            try browser.clickButton("Forget this board…")
            try browser.clickButton("Forget dut")
            #expect(await browser.shows("location.search === '?view=boards'"))
            #expect(await browser.shows("document.querySelector('.notice').innerText.startsWith('dut is forgotten: ')"))
            #expect(await browser.shows("document.querySelectorAll('.boards-body .board').length === 0"))
            try await rig.observer.catchUp()
            let late = try await Observer(rig.broker.port)
            try await late.catchUp()
            #expect(late.topics.isEmpty)
            // It appears again.
            try await rig.startAgent("rest")
            #expect(await browser.shows("document.querySelectorAll('.boards-body .board').length === 1"))
            try rig.expectQuietConsole()
        }

        /// Requirement: a page that only shows has no control that could be used, and says why.
        @Test func aReadOnlyPageChangesNothing() async throws {
            let rig = try await BrowserRig.onBoard("rest")
            #expect(await rig.browser.shows("document.querySelector('.at-settings .setting:not([hidden])')"))
            for tab in ["settings", "commands"] {
                try await rig.openTab(tab)
                let usable: [String] = try rig.browser.value(
                    """
                    [...document.querySelectorAll(".at-control :is(button, select, input), .at-settings :is(button, select, input)")]
                      .filter((one) => one.getClientRects().length > 0 && !one.matches(":disabled")).map((one) => one.outerHTML)
                    """)
                #expect(usable.isEmpty, "\(usable)")
            }
            let texts: [String] = try rig.browser.value(
                "[...document.querySelectorAll('.at-control .notice, .at-settings .notice')].map((one) => one.innerText)"
            )
            #expect(texts.count == 2 && texts.allSatisfy { $0.contains("set page.control: true") }, "\(texts)")
            #expect(
                await !rig.browser.shows(
                    "[...document.querySelectorAll('button')].some((one) => one.textContent === 'Tare' && !one.hidden)",
                    within: .zero))
            try rig.expectQuietConsole()
        }
    }
}
