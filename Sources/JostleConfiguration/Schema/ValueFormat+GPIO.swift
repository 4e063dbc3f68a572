extension ValueFormat<String> {
    /// A GPIO chip's name, or the path of its device file.
    static var gpioChip: ValueFormat {
        ValueFormat(
            allowed: "gpiochip0 … or the path of a GPIO chip", wantsExample: true,
            constraints: [.init("type", "string"), .init("pattern", "^(gpiochip[0-9]+|/.+)$")],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 200)
                let digits = text.hasPrefix("gpiochip") ? text.dropFirst(8) : ""
                let isName = !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber }
                guard isName || text.hasPrefix("/") && text.count > 1 else {
                    throw ValueRefusal("is not the name of a GPIO chip")
                }
                return text
            },
            write: { .string($0) })
    }

    /// The number of a GPIO line on its chip, or its name of at most 31 bytes (linux/gpio.h, `GPIO_MAX_NAME_SIZE`).
    static var gpioLine: ValueFormat {
        ValueFormat(
            allowed: "a line's number, 0 … 65535, or its name", wantsExample: true,
            constraints: [
                .init(
                    "anyOf",
                    [
                        ["type": "integer", "minimum": 0, "maximum": 65535],
                        ["type": "string", "minLength": 1, "maxLength": 31],
                    ])
            ],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: 31)
                guard text.allSatisfy({ $0.isASCII && $0.isNumber }) else {
                    // -1 and 1.5 are mistaken numbers, not names.
                    guard NumberText.whole(text) == nil else { throw ValueRefusal("is not a line's number") }
                    return text
                }
                guard UInt16(text) != nil else { throw ValueRefusal("is out of bounds") }
                return text
            },
            write: { .string($0) })
    }
}
