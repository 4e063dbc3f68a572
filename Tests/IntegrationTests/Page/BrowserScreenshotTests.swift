import Foundation
import Testing

extension BrowserTests {
    /// The pictures in the documentation are of the real page.
    @Suite struct Screenshots {
        private static let documentation = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../docs").standardized

        /// The width of a PNG, by its header; `nil` if it is none.
        private func width(of picture: Data) -> Int? {
            let bytes = [UInt8](picture.prefix(24))
            guard bytes.count == 24, bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) else { return nil }
            return bytes[16..<20].reduce(0) { $0 << 8 | Int($1) }
        }

        /// With `JOSTLE_WRITE_DOCS` set, as `make docs-pictures` sets it, takes the pictures before looking at them.
        @Test func thePicturesInTheDocumentationExist() async throws {
            if ProcessInfo.processInfo.environment["JOSTLE_WRITE_DOCS"] != nil { try await take() }
            for (name, expected) in [("page-desktop.png", 1280), ("page-phone.png", 360)] {
                let picture = try Data(contentsOf: Self.documentation.appendingPathComponent(name))
                #expect(width(of: picture) == expected, "\(name)")
                #expect(picture.count < 150_000, "\(name) is too large for a document: \(picture.count) bytes")
            }
        }

        private func take() async throws {
            let rig = try await BrowserRig.onBoard(
                "demo", tab: "motion", agent: ["device.name=Washing machine", "sensor.rate=200Hz"],
                page: ["page.control=true"])
            // All plots are full, the gyroscope's bias has been known for as long, and the gestures have a shake.
            #expect(await rig.browser.shows("jostlePage.samples > 4600"))
            #expect(
                await rig.browser.shows(
                    "[...document.querySelectorAll('.log .ended b')].some((one) => one.textContent === 'shake')"))
            for (name, tab, scheme, width, height) in [
                ("page-desktop.png", "motion", "light", 1280, 820), ("page-phone.png", "overview", "dark", 360, 860),
            ] {
                try await rig.openTab(tab)
                try rig.browser.prefer(scheme)
                try rig.browser.resize(width, height, isPhone: width < 500)
                // Colours and sizes are read again twice a second.
                try rig.browser.runAndWait("await new Promise((go) => setTimeout(go, 1500)); return true")
                try rig.browser.picture().write(to: Self.documentation.appendingPathComponent(name))
            }
        }
    }
}
