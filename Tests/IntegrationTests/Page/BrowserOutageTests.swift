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
