internal import LinuxSystem

/// What the board says of itself: the device tree, or a PC's firmware (DMI).
struct BoardFacts: Equatable, Sendable {
    /// `Raspberry Pi Zero 2 W Rev 1.0`.
    var model: String?

    /// The maker's number of this very board.
    var serial: String?

    /// What this machine says.
    static func ofThisMachine() -> BoardFacts {
        let trees = ["/proc/device-tree", "/sys/firmware/devicetree/base"]
        let firmware = "/sys/class/dmi/id"
        return BoardFacts(
            model: first(of: trees.map { "\($0)/model" } + ["\(firmware)/product_name"]),
            serial: first(of: trees.map { "\($0)/serial-number" } + ["\(firmware)/product_serial"]))
    }

    /// The text of the first of these files that says something.
    private static func first(of paths: [String]) -> String? {
        for path in paths {
            if let text = FileContents.text(ofOptional: path, limit: 256), let name = meaning(of: text) { return name }
        }
        return nil
    }

    /// What a text of firmware says; `nil` where it says nothing, as many a PC's does at length.
    static func meaning(of text: String) -> String? {
        // A property of the device tree ends with a zero byte.
        let line = text.unicodeScalars.prefix { $0 != "\0" && $0 != "\n" }
        let words = String(String.UnicodeScalarView(line)).split(separator: " ", omittingEmptySubsequences: true)
        let name = words.joined(separator: " ")
        let isFilledIn = !["", "0", "None", "Default string", "Not Specified"].contains(name)
        return isFilledIn && !name.hasPrefix("To Be Filled") && !name.hasPrefix("To be filled") ? name : nil
    }
}
