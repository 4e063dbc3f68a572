import BrokerTestSupport
import Foundation
import Testing

extension BrowserTests {
    /// One value for several boards of the list.
    @Suite struct Bulk {
        private static let key = "gestures.shake.sensitivity"
        private static let text = "document.querySelector('.selection').innerText"
        private static let summary = "document.querySelector('.bulk .totals').textContent"

        /// Whether the settings of all boards are known.
        /// Selects all boards of the list, and opens the panel for them.
        private func chooseAll(_ count: Int, _ browser: Browser) async throws {
            #expect(await browser.shows("\(Self.text).startsWith('Select all \(count) shown')"))
            try browser.click(".selection label input")
            try browser.clickButton("Set for \(count) boards…")
            #expect(await browser.shows(Self.isRead))
        }

        private static let isRead = "document.querySelector('.bulk .notice')?.hidden"

        /// What is said of a board in the panel.
        private func line(_ id: String) -> String {
            "document.querySelector('.members a[href$=\"board=\(id)\"]').nextElementSibling.textContent"
        }

        private func says(_ id: String, _ words: String) -> String { "\(line(id)) === \"\(words)\"" }

        private func board(
            _ id: String, groups: [String] = [], value: Int = 5, origin: String? = nil, layer: String? = nil,
            more: String = ""
        ) -> SimulatedBoards.Board {
            var board = SimulatedBoards.Board(id: id, groups: groups, behaviour: .isSilent)
            board.settings = #"{"gestures":{"shake":{"enabled":true,"sensitivity":\#(value)}}\#(more)}"#
            board.origins = origin.map { "{\"\(Self.key)\":\"\($0)\"}" } ?? "{}"
            if let layer { board.layers[layer] = #"{"status":"applied","revision":3}"# }
            return board
        }

        /// Chooses a setting, and sets a value of its slider.
        private func choose(_ browser: Browser, _ value: Int) throws {
            try browser.run(
                """
                const choice = document.getElementById("bulk-key");
                choice.value = arguments[0];
                choice.dispatchEvent(new Event("change"));
                const slider = document.getElementById("set-gestures-shake-sensitivity");
                slider.value = arguments[1];
                slider.dispatchEvent(new Event("input"));
                """, Self.key, value)
        }

        /// Requirement: of each board, it is shown what is true: that it has the value, waits, has refused it and why, does not
        /// answer, or was left out and why.
        @Test func eachBoardSaysWhatBecameOfIt() async throws {
            let rig = try await BrowserRig(page: ["page.control=true"])
            var offline = board("washer-4")
            offline.isOnline = false
            let all = [
                board("washer-1"), board("washer-2"), board("washer-3"), offline,
                board("washer-5", groups: ["laundry"], value: 6, origin: "group:laundry", layer: "group:laundry"),
                board("washer-6", more: #","settings":{"allow":["gestures.tap"]}"#), board("washer-7", value: 8),
            ]
            let boards = try await SimulatedBoards(rig.broker.port, all)
            try await rig.startAgent("rest")
            try rig.open("/?view=boards")
            let browser = rig.browser
            try await chooseAll(8, browser)
            #expect(try browser.value("document.activeElement.id") == "bulk-title")
            try choose(browser, 8)
            let about = "From 1 (only unmistakable gestures) to 10 (even the gentlest). Default: 5, allowed: 1 … 10."
            #expect(
                await browser.shows(
                    "document.getElementById('set-gestures-shake-sensitivity-about').textContent === '\(about)'"))
            #expect(await browser.shows(says("washer-1", "In force: 5 (default).")))
            try browser.clickButton("Set for 5 boards")
            for (id, words) in [
                ("dut", "In force: 8 (local)."), ("washer-7", "In force: 8 (default)."),
                ("washer-1", "Sent, waiting for the board. In force: 5."),
                ("washer-4", "Left out: it is offline, and can be changed again as soon as it is back."),
                ("washer-5", "Left out: held by the fleet's layer group:laundry, which sets 6."),
                (
                    "washer-6",
                    "Left out: it does not permit this over MQTT: add \(Self.key) to settings.allow in its configuration file."
                ),
            ] {
                #expect(await browser.shows(says(id, words)), "\(id)")
            }
            #expect(await browser.shows("\(Self.summary) === '2 in force, 3 waiting, 3 left out'"))
            try await rig.observer.catchUp()
            let asked = rig.observer.topics.filter { $0.hasSuffix("/set/\(Self.key)") }.sorted()
            #expect(asked == ["dut", "washer-1", "washer-2", "washer-3"].map { "jostle/\($0)/set/\(Self.key)" })
            #expect(rig.observer.texts("set/\(Self.key)", of: "washer-1") == ["8"])

            boards.publish(
                "jostle/washer-1/config/reported", board("washer-1", value: 8, origin: "local").report)
            boards.publish(
                "jostle/washer-2/config/reported",
                String(board("washer-2").report.dropLast())
                    + #","refused":[{"key":"\#(Self.key)","value":"8","reason":"is too lively","allowed":"1 … 7"}]}"#)
            #expect(await browser.shows(says("washer-1", "In force: 8 (local).")))
            let refusal = "Refused: 8 is too lively. Allowed: 1 … 7. In force: 5 (default)."
            #expect(await browser.shows(says("washer-2", refusal)))
            let silence =
                "The board has not answered for 10 s. It may not have received the change. In force: 5 (default)."
            #expect(await browser.shows(says("washer-3", silence)))
            #expect(await browser.shows("\(Self.summary) === '3 in force, 1 refused, 1 not answered, 3 left out'"))
            // It has received it all the same.
            boards.publish("jostle/washer-3/config/reported", board("washer-3", value: 8, origin: "local").report)
            #expect(await browser.shows(says("washer-3", "In force: 8 (local).")))

            // A layer of the fleet comes.
            boards.publish(
                "jostle/washer-3/config/reported", board("washer-3", value: 4, origin: "all", layer: "all").report)
            #expect(
                await browser.shows(says("washer-3", "Not in force: held by the fleet's layer all, which sets 4.")))

            // Back to default: those that have a value of their own.
            try browser.clickButton("Back to default for 2 boards")
            #expect(await browser.shows(says("dut", "In force: 5 (default).")))
            #expect(await browser.shows(says("washer-1", "Sent, waiting for the board. In force: 8.")))
            await rig.observer.expect { try $0.setting(Self.key) as? Int == 5 }
            #expect(rig.observer.texts("set/\(Self.key)", of: "washer-1").last == "")
            try browser.clickButton("Back to the list")
            #expect(await browser.shows("document.activeElement.textContent === 'Set for 8 boards…'"))
            try rig.expectQuietConsole()
        }

        /// Requirement: the broker is not flooded, and nobody has to wait for what was left out; what a board says stays text.
        @Test func onlySoManyBoardsAreAskedAtTheSameTime() async throws {
            let rig = try await BrowserRig(page: ["page.control=true"])
            var all = (1...30).map { board("washer-\($0)") }
            all[0].origins = #"{"gestures.shake.sensitivity":"group:<b>x</b>\u202e"}"#
            let boards = try await SimulatedBoards(rig.broker.port, all)
            try rig.open("/?view=boards")
            let browser = rig.browser
            try await chooseAll(30, browser)
            try choose(browser, 9)
            #expect(
                await browser.shows(
                    says("washer-1", "Left out: held by the fleet's layer group:<b>x</b> , which sets 5.")))
            try browser.clickButton("Set for 29 boards")
            #expect(await browser.shows("\(Self.summary) === '29 waiting, 1 left out'"))
            func asked() -> Set<String> { Set(rig.observer.topics.filter { $0.hasSuffix("/set/\(Self.key)") }) }
            #expect(await rig.observer.sees { _ in asked().count == 20 })
            try await rig.observer.catchUp()
            #expect(asked().count == 20)
            // As soon as one has answered, it is the turn of another.
            let id = try #require(asked().first?.split(separator: "/")[1])
            boards.publish("jostle/\(id)/config/reported", board(String(id), value: 9, origin: "local").report)
            #expect(await rig.observer.sees { _ in asked().count == 21 })
            #expect(await browser.shows("\(Self.summary) === '1 in force, 28 waiting, 1 left out'"))
            try rig.expectQuietConsole()
        }

        /// Requirement: all that are shown can be selected, and what is selected stays so when it is not shown.
        @Test func theSelectionFollowsSearchAndFilter() async throws {
            let rig = try await BrowserRig(page: ["page.control=true"])
            let all = (1...12).map { board("washer-\($0)", groups: [$0 % 2 == 0 ? "laundry" : "kitchen"]) }
            let boards = try await SimulatedBoards(rig.broker.port, all)
            try rig.open("/?view=boards")
            let browser = rig.browser
            #expect(await browser.shows("\(Self.text).startsWith('Select all 12 shown')"))
            try browser.run(
                """
                const group = document.querySelector(".filters select + select");
                group.value = "laundry";
                group.dispatchEvent(new Event("change"));
                """)
            try browser.run("document.querySelector('.filters input').focus()")
            try browser.type("washer-1")
            #expect(await browser.shows("\(Self.text).startsWith('Select all 2 shown')"), "10 and 12")
            try browser.click(".selection label input")
            #expect(await browser.shows("\(Self.text).includes('Set for 2 boards…')"))
            try browser.run("document.querySelector('.filters input').focus()")
            try browser.press(.escape)
            try browser.run(
                """
                const group = document.querySelector(".filters select + select");
                group.value = "kitchen";
                group.dispatchEvent(new Event("change"));
                """)
            #expect(await browser.shows("\(Self.text).includes('2 boards selected, 2 of them not shown')"))
            // With the keyboard: from checkbox to checkbox.
            try browser.run("document.querySelector('.boards-body .cell-select input').focus()")
            try browser.press(.space)
            try browser.press(.down)
            try browser.press(.space)
            let checked = "[...document.querySelectorAll('.cell-select :checked')].map((one) => one.value).join()"
            #expect(await browser.shows("\(checked) === 'washer-1,washer-3'"))
            #expect(
                try browser.value(
                    "document.querySelector('.selection label input').indeterminate && document.activeElement.ariaLabel"
                ) == "Select washer-3")
            #expect(await browser.shows("\(Self.text).includes('4 boards selected, 2 of them not shown')"))
            // A click beside the checkbox opens the board.
            boards.publish("jostle/washer-1/availability", "")
            #expect(await browser.shows("\(Self.text).includes('3 boards selected')"), "a board that is gone")
            try browser.clickButton("Select none")
            #expect(await browser.shows("\(Self.text).includes('Set for several boards…') && \(checked) === ''"))
            try browser.click("a[data-id=washer-3]")
            #expect(await browser.shows("location.search === '?board=washer-3'"))
            try rig.expectQuietConsole()
        }

        /// Requirement: the page signs nothing; it has the command of the layer that is for exactly these boards, and says where
        /// a higher one holds the value all the same.
        @Test func theFleetsCommandIsReadyToCopy() async throws {
            let rig = try await BrowserRig(page: ["page.control=true"])
            let all = [
                board("washer-1", groups: ["laundry"], value: 6, origin: "all", layer: "all"),
                board("washer-2", groups: ["laundry"], value: 6, origin: "device", layer: "device"),
                board("door", layer: "all"),
            ]
            let boards = try await SimulatedBoards(rig.broker.port, all)
            defer { withExtendedLifetime(boards) {} }
            try rig.open("/?view=boards")
            let browser = rig.browser
            #expect(await browser.shows("\(Self.text).startsWith('Select all 3 shown')"))
            func open(_ ids: [String], _ button: String) async throws {
                for id in ids { try browser.click(".cell-select input[value=\(id)]") }
                try browser.clickButton(button)
                #expect(await browser.shows(Self.isRead))
                try choose(browser, 7)
            }
            let hint = "document.querySelector('.bulk .command').innerText"
            try await open(["washer-1", "washer-2"], "Set for 2 boards…")
            #expect(
                await browser.shows(
                    "\(hint).includes('jostle fleet set --group laundry \(Self.key)=7') && \(hint).includes('layer group:laundry is for exactly these boards')"
                ))
            #expect(try browser.value("\(hint).endsWith('A higher layer holds it all the same on washer-2 (device).')"))
            try browser.clickButton("Copy")
            #expect(await browser.shows("/Copied|Selected/.test(\(hint))"))
            try browser.clickButton("Back to the list")
            try await open(["door"], "Set for 3 boards…")
            #expect(await browser.shows("\(hint).includes('jostle fleet set --all \(Self.key)=7')"))
            try browser.clickButton("Back to the list")
            // Neither a group nor all.
            try await open(["washer-2"], "Set for 2 boards…")
            #expect(
                await browser.shows(
                    "!\(hint).includes('jostle fleet set') && \(hint).includes('What the fleet holds is changed with')"
                ))
            #expect(await browser.shows(says("washer-1", "Left out: held by the fleet's layer all, which sets 6.")))
            try await rig.observer.catchUp()
            #expect(rig.observer.topics.allSatisfy { !$0.contains("/set/") && !$0.contains("_all") })
            try rig.expectQuietConsole()
        }

        /// Requirement: a page that only shows has nothing to select.
        @Test func aReadOnlyPageHasNoSelection() async throws {
            let rig = try await BrowserRig()
            let boards = try await SimulatedBoards(rig.broker.port, [board("washer-1"), board("washer-2")])
            defer { withExtendedLifetime(boards) {} }
            try rig.open("/?view=boards")
            #expect(await rig.browser.shows("document.querySelectorAll('.boards-body .board').length === 2"))
            let shown = """
                [...document.querySelectorAll(".selection, .cell-select")].filter((one) => one.getClientRects().length > 0).length
                """
            #expect(try rig.browser.value(shown) == 0)
            try rig.expectQuietConsole()
        }
    }
}
