import Testing

extension BrowserTests {
    /// The list of all boards.
    @Suite struct Boards {
        private static let rows = "document.querySelectorAll('.boards-body .board:not([hidden])')"
        private static let focused = "document.activeElement?.dataset?.id"

        /// 200 boards, of which two are offline and two have a problem: four need somebody.
        private func boards() -> [SimulatedBoards.Board] {
            (1...200).map { number in
                var board = SimulatedBoards.Board(
                    id: "washer-\(number)", groups: [number % 2 == 0 ? "laundry" : "kitchen"])
                if number == 17 || number == 180 { board.isOnline = false }
                if number == 23 || number == 150 {
                    board.health = #"{"version":"0.1.0","sensor":"MPU-6050","problems":["sensor"]}"#
                }
                return board
            }
        }

        @Test func twoHundredBoardsAreFoundByKeyboard() async throws {
            let rig = try await BrowserRig()
            let boards = try await SimulatedBoards(rig.broker.port, boards())
            defer { withExtendedLifetime(boards) {} }
            try rig.open("/")
            let browser = rig.browser
            #expect(await browser.shows("\(Self.rows).length === 200"), "several boards: the list of all")
            let totals = "document.querySelector('.totals').textContent"
            #expect(await browser.shows("\(totals) === '200 boards, 2 offline, 4 with problems'"))
            let first: [String] = try browser.value(
                "[...\(Self.rows)].slice(0, 5).map((row) => row.querySelector('a').dataset.id)")
            #expect(first == ["washer-17", "washer-23", "washer-150", "washer-180", "washer-1"], "problems first")
            let texts: [String] = try browser.value(
                "[...\(Self.rows)].slice(0, 3).map((row) => row.querySelector('.cell-status').innerText)")
            #expect(texts[0].hasPrefix("offline") && texts[1].contains("the sensor does not measure"), "\(texts)")

            try browser.type("/")
            try browser.type("washer-19 laundry")
            #expect(await browser.shows("\(Self.rows).length === 5"), "190, 192, 194, 196, 198")
            try browser.press(.down, times: 2)
            #expect(try browser.value(Self.focused) == "washer-192")
            try browser.press(.up)
            #expect(try browser.value(Self.focused) == "washer-190")
            try browser.press(.enter)
            #expect(
                await browser.shows(
                    "location.search === '?board=washer-190' && document.querySelector('h1').textContent === 'washer-190'"
                ))
            try browser.command("POST", "/back")
            #expect(await browser.shows("location.search === '' && \(Self.rows).length === 5"), "the search stays")
            try browser.run("document.querySelector('.filters input').focus()")
            try browser.press(.escape)
            #expect(await browser.shows("\(Self.rows).length === 200"))

            // Sorted by the name, downwards, and by urgency again.
            let header = ".boards-head .cell-name"
            for (sort, id) in [("ascending", "washer-1"), ("descending", "washer-200"), ("none", "washer-17")] {
                try browser.click("\(header) button")
                #expect(
                    await browser.shows(
                        "document.querySelector('\(header)').getAttribute('aria-sort') === '\(sort)' && \(Self.rows)[0].querySelector('a').dataset.id === '\(id)'"
                    ), "\(sort)")
            }

            // A board that gets a problem moves to the top, and one that is forgotten disappears.
            boards.publish("jostle/washer-99/health", #"{"version":"0.1.0","problems":["clock"]}"#)
            #expect(
                await browser.shows(
                    "[...\(Self.rows)].slice(0, 5).some((row) => row.querySelector('a').dataset.id === 'washer-99')"))
            #expect(await browser.shows("\(totals).endsWith('5 with problems')"))
            try rig.expectQuietConsole()
        }

        /// Requirement: who goes back to the list finds it as it was, scrolled to the same row.
        @Test func theListStaysAsItWas() async throws {
            let rig = try await BrowserRig()
            let boards = try await SimulatedBoards(rig.broker.port, boards())
            defer { withExtendedLifetime(boards) {} }
            try rig.open("/?view=boards")
            let browser = rig.browser
            #expect(
                await browser.shows(
                    "\(Self.rows).length === 200 && document.querySelector('option[value=laundry]')"))
            try browser.run(
                """
                const group = document.querySelector(".filters select + select");
                group.value = "laundry";
                group.dispatchEvent(new Event("change"));
                """)
            for _ in 1...2 { try browser.click(".boards-head .cell-name button") }
            #expect(
                await browser.shows(
                    "\(Self.rows).length === 100 && \(Self.rows)[0].querySelector('a').dataset.id === 'washer-200'"))
            // Some frames: the rows that come into sight get their heights.
            let scrolling = """
                for (let n = 0; n < 10; n += 1) {
                  document.querySelector("a[data-id=washer-100]").scrollIntoView({ block: "center" });
                  await new Promise(requestAnimationFrame);
                }
                return document.querySelector("a[data-id=washer-100]").getBoundingClientRect().top;
                """
            let place = try #require(try browser.runAndWait(scrolling) as? Double)
            let isAsItWas = """
                Math.abs(document.querySelector("a[data-id=washer-100]").getBoundingClientRect().top - \(place)) < 5
                  && document.querySelector(".filters select + select").value === "laundry" && \(Self.rows).length === 100
                  && document.querySelector(".boards-head .cell-name").getAttribute("aria-sort") === "descending"
                """
            for path in ["back", "all-boards"] {
                try browser.click("a[data-id=washer-100]")
                #expect(await browser.shows("document.querySelector('[role=tab]') && scrollY === 0"))
                if path == "back" { try browser.command("POST", "/back") } else { try browser.click("#all-boards") }
                #expect(await browser.shows(isAsItWas), "\(path)")
            }
            try rig.expectQuietConsole()
        }

        /// Requirement: a board that is the only one is shown at once, with a way to all boards.
        @Test func anOnlyBoardIsShownAtOnce() async throws {
            let rig = try await BrowserRig("rest")
            try rig.open("/")
            #expect(await rig.browser.shows("location.search === '?board=dut' && document.getElementById('board-3d')"))
            try rig.browser.click("#all-boards")
            #expect(await rig.browser.shows("location.search === '?view=boards' && \(Self.rows).length === 1"))
            try rig.browser.command("POST", "/back")
            #expect(
                await rig.browser.shows(
                    "location.search === '?board=dut' && document.getElementById('board-3d')?.dataset.t"))
            try rig.expectQuietConsole()
        }
    }
}
