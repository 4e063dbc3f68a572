import Foundation
import Testing

extension BrowserTests {
    /// Everything from a broker is untrusted: it is shown as text, and nothing of it stops the page.
    @Suite struct ForeignText {
        private static let attack = "<img src=x onerror=alert(1)>"

        /// Payloads of one board with markup in each text.
        private static var hostile: [(topic: String, text: String)] {
            let now = Int(Date().timeIntervalSince1970 * 1000)
            let attack = attack
            return [
                ("availability", "online"),
                (
                    "config/reported",
                    #"{"settings":{"device":{"name":"\#(attack)"},"gestures":{"shake":{"sensitivity":5,"enabled":true}},"\#(attack)":"\#(attack)"},"origins":{"device.name":"\#(attack)","gestures.shake.sensitivity":"\#(attack)"},"refused":[{"key":"gestures.shake.sensitivity","value":"\#(attack)","reason":"\#(attack)","allowed":"\#(attack)"},{"key":"\#(attack)","value":1,"reason":"\#(attack)"}],"not_kept":"\#(attack)","layers":{"\#(attack)":{"status":"rejected","reason":"\#(attack)"}}}"#
                ),
                (
                    "health",
                    #"{"problems":["\#(attack)","sensor"],"sensor_fault":"\#(attack)","version":"\#(attack)","sensor":"\#(attack)","bus_errors":{"\#(attack)":2},"unavailable_gestures":["\#(attack)"]}"#
                ),
                ("state", #"{"moving":true,"side":"\#(attack)","simulated":true}"#),
                (
                    "event/shake",
                    #"{"id":"a-1","t":\#(now),"gesture":"\#(attack)","phase":"cancelled","reason":"\#(attack)","axis":"\#(attack)"}"#
                ),
                ("event/tap", #"{"id":"a-2","t":\#(now),"gesture":"tap","phase":"\#(attack)"}"#),
                (
                    "machine",
                    #"{"t":\#(now),"phase":"\#(attack)","zone":"\#(attack)","v_10_90":"\#(attack)","v_10_\#(attack)":1,"octaves":["\#(attack)"],"lines":[["\#(attack)",1]],"changed":true,"deviation":{"octave":"\#(attack)"}}"#
                ),
                (
                    "event/machine",
                    #"{"id":"a-3","t":\#(now),"gesture":"machine","phase":"\#(attack)","octave":22,"decibels":3}"#
                ),
                (
                    "command/machine/result",
                    #"{"ok":true,"now":"\#(attack)","runs":[{"t":"\#(attack)","peak":"\#(attack)"}]}"#
                ),
                ("near-miss", #"{"t":\#(now),"gesture":"shake","text":"\#(attack)"}"#),
                ("near-miss", #"{"t":\#(now),"gesture":"\#(attack)","reason":"\#(attack)"}"#),
                ("command/tare/result", #"{"ok":false,"error":"\#(attack)","message":"\#(attack)"}"#),
                (
                    "command/calibrate/result",
                    #"{"ok":true,"what":"\#(attack)","pose":1,"poses":8,"advice":"\#(attack)"}"#
                ),
                ("attitude", #"{"t":\#(now),"q":[1,0,0,0]}"#),
            ]
        }

        /// Payloads that are no JSON, or of wrong types.
        private static let junk: [String] = [
            "", "{", "[]", "null", "3", "\"text\"", "[[[[", "{\"t\":\"x\",\"q\":\"y\",\"id\":{}}",
            #"{"t":null,"q":[1,0,0,"0"],"gesture":[],"phase":3}"#,
            #"{"settings":[],"origins":3,"refused":"x","layers":[1],"problems":{"a":1},"groups":"g"}"#,
            #"{"settings":{"gestures":{"shake":null},"device":[]},"problems":[{}, null],"refused":[null, 3, {}]}"#,
            #"{"t":1e300,"acceleration":[[1,2]],"rotation":3,"attitude":[[0,0,0,0]],"period":-1,"n":"n"}"#,
            #"{"phase":1,"octaves":3,"lines":[null,[1],"x"],"below":5,"deviation":[],"changed":true,"ok":true,"runs":[null,3]}"#,
            #"{"moving":"yes","side":3,"tilt":[],"vibration":"x","ok":"yes","pose":"x","poses":0}"#,
            String(repeating: "[", count: 5000) + String(repeating: "]", count: 5000), "\u{FFFD}\u{202E}",
        ]

        private func send(_ rig: BrowserRig, _ board: String, _ topic: String, _ text: String) throws {
            try rig.observer.publish("jostle/\(board)/\(topic)", text)
        }

        @Test func markupIsTextAndJunkStopsNothing() async throws {
            let rig = try await BrowserRig(page: ["page.control=true"])
            let browser = rig.browser
            // A broker's retained messages and those that come later.
            for (topic, text) in Self.hostile {
                try rig.observer.publish("jostle/evil/\(topic)", text, retain: true)
            }
            try rig.open("/?board=evil&tab=motion")
            #expect(await browser.shows("document.querySelector('h1').textContent === '\(Self.attack)'"))
            // The page asks the board when it has subscribed to everything of it.
            #expect(await rig.observer.sees { !$0.messages("command/stream", of: "evil").isEmpty })
            for (topic, text) in Self.hostile { try send(rig, "evil", topic, text) }
            #expect(await browser.shows("document.getElementById('board-3d')?.dataset.t"))
            #expect(await browser.shows("document.querySelector('.log').textContent.includes('\(Self.attack)')"))
            #expect(await browser.shows("document.querySelector('.answers').textContent.includes('\(Self.attack)')"))
            try expectNoMarkup(browser)

            let topics = Set(Self.hostile.map(\.topic)).union([
                "stream", "motion", "event/turn", "command/stream/result",
            ])
            for text in Self.junk { for topic in topics.sorted() { try send(rig, "evil", topic, text) } }
            // The page goes on.
            try send(rig, "evil", "event/shake", #"{"id":"a-9","t":1,"gesture":"afterwards","phase":"ended"}"#)
            #expect(await browser.shows("document.querySelector('.log').textContent.includes('afterwards')"))
            let frames: Int = try browser.value("jostlePage.frames")
            #expect(await browser.shows("jostlePage.frames > \(frames + 10)"))
            try expectNoMarkup(browser)

            for (topic, text) in Self.hostile { try send(rig, "evil", topic, text) }
            try browser.click("#all-boards")
            #expect(
                await browser.shows("document.querySelector('.boards-body')?.textContent.includes('\(Self.attack)')"))
            try send(rig, Self.attack, "availability", "online")
            try send(rig, "lamp", "availability", "online")
            #expect(await browser.shows("document.querySelector('.boards-body').textContent.includes('lamp')"))
            try expectNoMarkup(browser)
            try rig.expectQuietConsole()
        }

        /// No element came from a message, and no text makes the page wider than a phone.
        private func expectNoMarkup(_ browser: Browser, sourceLocation: SourceLocation = #_sourceLocation) throws {
            let images: Int = try browser.value(
                "document.querySelectorAll('main img, main script, main iframe').length")
            #expect(images == 0, sourceLocation: sourceLocation)
            try browser.resize(360, 780, isPhone: true)
            let widths = """
                return [null, ...document.querySelectorAll("[role=tab]")].map((tab) => {
                  tab?.click();
                  return document.scrollingElement.scrollWidth;
                });
                """
            let width = try #require(try browser.run(widths) as? [Int]).max() ?? 0
            #expect(width <= 360, sourceLocation: sourceLocation)
            try browser.run("document.getElementById('tab-motion')?.click()")
            try browser.resize(1280, 900)
        }
    }
}
