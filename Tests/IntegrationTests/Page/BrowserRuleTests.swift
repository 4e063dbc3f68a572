import Testing

extension BrowserTests {
    /// The switches of rules with names.
    @Suite struct Rules {
        /// Requirement: each rule with a name has a switch, which shows what the board reports.
        @Test func aRuleIsSwitchedOffAndOn() async throws {
            let rig = try await BrowserRig.onBoard(
                "rest", tab: "settings",
                agent: [
                    "actions=[{on: shake, name: lamp, publish: {topic: lamp}}, "
                        + "{on: tap, name: fan-2, enabled: false, consume: true}, {on: flick, consume: true}]"
                ], page: ["page.control=true"])
            let browser = rig.browser
            let switches = "[...document.querySelectorAll('.rules input')]"
            #expect(
                await browser.shows(
                    "\(switches).map((one) => one.labels[0].textContent + one.checked).join() === 'lamptrue,fan-2false'"
                ))
            let lamp = "document.getElementById('set-actions-lamp-enabled')"
            try browser.click("#set-actions-lamp-enabled")
            func isOff(_ observer: Observer) throws -> Bool {
                (try observer.setting("actions") as? [[String: Any]])?.first?["enabled"] as? Bool == false
            }
            #expect(await rig.observer.sees { try isOff($0) })
            let note = "document.getElementById('set-actions-lamp-enabled-note').textContent"
            #expect(await browser.shows("!\(lamp).checked && \(note) === ''"))
            // From elsewhere.
            try rig.observer.publish("jostle/dut/set/actions.lamp.enabled", "true")
            #expect(await browser.shows("\(lamp).checked"))
            try rig.expectQuietConsole()
        }
    }
}
