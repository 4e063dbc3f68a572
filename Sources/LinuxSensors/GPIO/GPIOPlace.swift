/// Identifies a line of a GPIO chip.
public struct GPIOPlace: Equatable, Sendable, CustomStringConvertible {
    /// A line by its number on the chip, or by its name in the board's device tree.
    public enum Line: Equatable, Sendable {
        case number(UInt32)
        case name(String)
    }

    /// The chip: a name such as `gpiochip0`, or the path of its device file. `nil` means `gpiochip0` for a line number,
    /// and any chip that has the line for a line name.
    public var chip: String?

    public var line: Line

    /// Creates a reference to a line.
    public init(chip: String? = nil, line: Line) {
        self.chip = chip
        self.line = line
    }

    /// The device files to try, in order.
    func paths(devices: String = "/dev") -> [String] {
        if let chip { return [chip.hasPrefix("/") ? chip : "\(devices)/\(chip)"] }
        guard case .name = line else { return ["\(devices)/gpiochip0"] }
        return SystemFiles.names(in: devices)
            .compactMap { name in
                name.hasPrefix("gpiochip") ? Int(name.dropFirst(8)).map { (number: $0, name: name) } : nil
            }
            .sorted { $0.number < $1.number }
            .map { "\(devices)/\($0.name)" }
    }

    /// `line 17 of gpiochip0`.
    public var description: String {
        let name =
            switch line {
            case .number(let number): "line \(number)"
            case .name(let name): "line \(name)"
            }
        let chip = chip ?? (line.isName ? nil : "gpiochip0")
        return chip.map { "\(name) of \($0)" } ?? name
    }
}

extension GPIOPlace.Line {
    var isName: Bool { if case .name = self { true } else { false } }
}
