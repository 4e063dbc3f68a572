import Testing

extension BrowserTests {
    /// What the page loads, and from where.
    @Suite struct Loading {
        /// Requirement: the page is small, and asks nobody but its own server.
        @Test(arguments: ["/?board=dut&tab=motion", "/?view=boards"])
        func thePageIsSmallAndAsksOnlyItsServer(path: String) async throws {
            let rig = try await BrowserRig("rest", logsRequests: true)
            try rig.open("/?view=boards")
            try rig.browser.open("about:blank")
            try rig.browser.chromium("Network.clearBrowserCache")
            _ = try rig.browser.requestEvents()
            try rig.browser.open(rig.page.base + path)
            let isShown =
                path.contains("board=") ? "jostlePage.frames > 20" : "document.querySelector('.boards-body a')"
            #expect(await rig.browser.shows(isShown))

            var addresses: [String: String] = [:]
            var bytes = 0
            for event in try rig.browser.requestEvents() {
                let id = event.parameters["requestId"] as? String ?? ""
                if event.method == "Network.requestWillBeSent" {
                    let request = try #require(event.parameters["request"] as? [String: Any])
                    addresses[id] = try #require(request["url"] as? String)
                } else if event.method == "Network.loadingFinished", addresses[id]?.contains("/events?") == false {
                    bytes += event.parameters["encodedDataLength"] as? Int ?? 0
                }
            }
            let foreign = addresses.values.filter { !$0.hasPrefix(rig.page.base + "/") && !$0.hasPrefix("data:") }
            #expect(foreign.isEmpty, "\(foreign)")
            let paint: Double = try rig.browser.value(
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1")
            print("browser, \(path): \(addresses.count) requests, \(bytes) bytes, first paint after \(Int(paint)) ms")
            #expect(addresses.count > 5 && addresses.count <= 25, "\(addresses.values.sorted())")
            #expect(bytes > 10_000 && bytes < 100_000)
            try rig.expectQuietConsole()
        }

        /// Requirement: a second visit loads no file again.
        @Test func aSecondVisitLoadsNoFileAgain() async throws {
            let rig = try await BrowserRig.onBoard("rest", logsRequests: true)
            _ = try rig.browser.requestEvents()
            try rig.browser.open(rig.page.base + "/?board=dut&tab=motion")
            #expect(await rig.browser.shows("jostlePage.frames > 20"))
            let loaded: [[Any]] = try rig.browser.value(
                """
                performance.getEntriesByType("resource").filter((one) => /[.](js|css|svg)$/.test(one.name))
                  .map((one) => [one.name, one.transferSize])
                """)
            #expect(loaded.count > 5)
            // A file that has not changed is answered by its head alone.
            let full = loaded.filter { ($0[1] as? Int ?? .max) > 400 }
            #expect(full.isEmpty, "\(full)")
            try rig.expectQuietConsole()
        }
    }
}
