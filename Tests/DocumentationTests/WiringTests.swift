import Foundation
import Testing

/// Requirement: the picture of the wiring, and the tables beside it, lead each wire to the same pins.
@Suite struct WiringTests {
    /// The pin of the Raspberry Pi for each pad of the sensor board, in the table of a page.
    private func pins(of page: String) throws -> [String: Int] {
        let rows = try Documentation.text(of: page).matches(of: /(?m)^\| ([A-Z0-9]+) \| .*pin ([0-9]+).* \|$/)
        return Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), Int($0.2) ?? 0) })
    }

    /// The pin at a place of the picture: the rows are at 62 and 90, and the columns 32 apart.
    private func pin(x: Int, y: Int) -> Int? {
        guard x >= 52, (x - 52) % 32 == 0, [62, 90].contains(y) else { return nil }
        return (x - 52) / 32 * 2 + (y == 62 ? 2 : 1)
    }

    @Test func pictureAndTablesAgree() throws {
        let picture = try Documentation.text(of: "docs/wiring.svg")
        var pads: [Int: String] = [:]
        for match in picture.matches(of: /<text x="([0-9]+)" y="254">([A-Z0-9]+)</) {
            pads[Int(match.1) ?? 0] = String(match.2)
        }
        #expect(pads.count == 8)
        var wires: [String: Int] = [:]
        for match in picture.matches(of: /<path d="M([0-9]+) ([0-9]+)[^"]*H([0-9]+)V228" stroke="/) {
            let pad = try #require(pads[Int(match.3) ?? 0])
            let number: Int = try #require(pin(x: Int(match.1) ?? 0, y: Int(match.2) ?? 0))
            wires[pad] = number
        }
        #expect(wires == ["VCC": 1, "GND": 6, "SDA": 3, "SCL": 5, "INT": 11])
        let labels = picture.matches(of: />pin ([0-9]+)[^<]* to ([A-Z]+)</)
        #expect(Dictionary(uniqueKeysWithValues: labels.map { (String($0.2), Int($0.1)) }) == wires)
        #expect(try pins(of: "docs/chips.md") == wires)
        let inREADME = try pins(of: "README.md")
        #expect(inREADME == wires.filter { $0.key != "INT" })
    }
}
