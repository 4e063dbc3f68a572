internal import Documents
internal import IMUDrivers
internal import LinuxSystem
internal import MotionCore

// The formats of single keys.

extension ValueFormat {
    /// `auto`, which is `nil`, or a value of another format, whose constraints allow `auto` as well, or are alternatives to it.
    static func auto<Known>(or known: ValueFormat<Known>) -> ValueFormat where Value == Known? {
        ValueFormat(
            "auto, or \(known.allowed)",
            known.constraints.map { constraint in
                guard case ("anyOf", .array(let values)) = (constraint.name, constraint.value.content),
                    !values.contains(["const": "auto"])
                else { return constraint }
                return .init("anyOf", .array([["const": "auto"]] + values))
            },
            read: { node, directory throws(ValueRefusal) in
                node.text == "auto" ? nil : try known.read(node, directory)
            },
            write: { $0.map(known.write) ?? "auto" })
    }
}

extension ValueFormat<String?> {
    /// `auto`, or the absolute path of an I2C bus.
    static var bus: ValueFormat {
        auto(
            or: .checked("the path of a bus such as /dev/i2c-1", .matching("^(auto|/.+)$")) {
                text throws(ValueRefusal) in
                guard text.hasPrefix("/"), text.count > 1,
                    text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
                else { throw ValueRefusal("is not the absolute path of a bus") }
            })
    }

    /// `auto`, or a device's identifier in sysfs, its name or its label.
    static var kernelDevice: ValueFormat {
        auto(
            or: .checked(
                "a device's identifier, name or label, such as iio:device0",
                .matching("^[^/]+$") + [.init("maxLength", .number("64"))], maximum: 64
            ) { text throws(ValueRefusal) in
                guard !text.contains("/") else { throw ValueRefusal("is a path, not a device's name") }
            })
    }
}

extension ValueFormat<JostleSettings.Driver> {
    /// `auto`, a family of chips, `iio`, or `virtual`.
    static var driver: ValueFormat {
        let families = IMUFamily.allCases.map { ($0.name, JostleSettings.Driver.family($0)) }
        let format = choice([("auto", .automatic)] + families + [("iio", .kernel), ("virtual", .virtual)])
        return ValueFormat(
            format.allowed, format.constraints,
            read: { node, directory throws(ValueRefusal) in
                // A part is not accepted for its family, so that a driver has the same name in every file.
                if let text = node.text, let family = PartNames.family(of: text), text != family.name {
                    throw ValueRefusal("is a chip of the family \(family.name); did you mean \"\(family.name)\"?")
                }
                return try format.read(node, directory)
            }, write: format.write)
    }
}

extension ValueFormat<UInt8?> {
    /// `auto`, or a 7-bit I2C address that is not reserved (UM10204 rev. 7.0, table 4).
    static var address: ValueFormat {
        auto(
            or: byte("an address 0x08 … 0x77 such as 0x68", 0x08...0x77, "is not an address") {
                text, address throws(ValueRefusal) in
                guard let meant = misread(text, address) else { return }
                throw ValueRefusal(
                    "is decimal, that is \(self.text(address)), where no chip with a driver can be; did you mean "
                        + "\(self.text(meant))?")
            })
    }

    /// `auto`, or the content of an identity register. 0xFF and 0 are excluded: an absent chip reads as 0xFF, and a bus
    /// that is held low as 0.
    static var identity: ValueFormat {
        auto(
            or: byte("a number 0x01 … 0xFE such as 0x68", 0x01...0xFE, "is not a chip's number") {
                _, _ throws(ValueRefusal) in
            })
    }

    /// A byte within bounds, decimal or hexadecimal, that passes a check of the text and its value.
    private static func byte(
        _ allowed: String, _ bounds: ClosedRange<UInt8>, _ refusal: String,
        check: @escaping @Sendable (String, UInt8) throws(ValueRefusal) -> Void
    ) -> ValueFormat<UInt8> {
        .parsed(
            allowed,
            [
                .init(
                    "anyOf",
                    [
                        ["const": "auto"],
                        [
                            "type": "integer", "minimum": .number("\(bounds.lowerBound)"),
                            "maximum": .number("\(bounds.upperBound)"),
                        ],
                        ["type": "string", "pattern": "^(0[xX][0-9A-Fa-f]{1,2}|[0-9]{1,3})$"],
                    ])
            ], write: text
        ) { text throws(ValueRefusal) in
            guard let byte = UInt8(decimalOrHexadecimal: text) else { throw ValueRefusal(refusal) }
            guard bounds.contains(byte) else { throw ValueRefusal("is out of bounds") }
            try check(text, byte)
            return byte
        }
    }

    /// The address that was meant by one in decimal, copied from i2cdetect, which prints hexadecimal numbers without 0x:
    /// 68 is 0x44. `nil` if a chip can be at the decimal one, or at neither. In hexadecimal, any address can be given.
    private static func misread(_ text: String, _ address: UInt8) -> UInt8? {
        let known =
            MPUFamily.addresses + ICM42688Family.addresses + LSM6DSFamily.addresses + BMI160Family.addresses
            + ADXL345Family.addresses + LIS3DHFamily.addresses
        guard let meant = UInt8(text, radix: 16), known.contains(meant), !known.contains(address) else { return nil }
        return meant
    }

    private static func text(_ byte: UInt8) -> String { "0x" + (byte < 16 ? "0" : "") + String(byte, radix: 16) }
}

extension ValueFormat where Value: OptionSet {
    /// One or a list of the names of a set's members or, if `all` has a name, that.
    fileprivate static func members(_ names: [(key: String, value: Value)], any all: Value? = nil) -> ValueFormat {
        let some = ValueFormat<[Value]>.oneOrMore(.choice(names))
        return ValueFormat(
            all == nil ? some.allowed : "any, \(some.allowed)",
            all == nil ? some.constraints : [.init("anyOf", [["const": "any"], .object(some.constraints)])],
            read: { node, directory throws(ValueRefusal) in
                if let all, node.text == "any" { return all }
                return try some.read(node, directory).reduce(into: []) { $0.formUnion($1) }
            },
            write: { set in
                set == all ? "any" : some.write(names.map(\.value).filter { set.isSuperset(of: $0) })
            })
    }
}

extension ValueFormat<BodySides> {
    /// `any`, a side, or a list of sides.
    static var sides: ValueFormat { members(BodySide.allCases.map { ($0.word, BodySides($0)) }, any: .all) }
}

extension ValueFormat<MotionDirections> {
    /// `any`, a direction, or a list of directions.
    static var directions: ValueFormat {
        members(MotionDirection.allCases.map { ($0.word, MotionDirections($0)) }, any: .all)
    }
}

extension ValueFormat<TapCounts> {
    /// The tap counts to distinguish: one or a list.
    static var tapCounts: ValueFormat { members(Array(zip(TapCounts.words, [.single, .double, .triple]))) }
}

extension ValueFormat<Matrix3> {
    /// A rotation: nine numbers, three rows of three, or the text of the kernel's `mount_matrix`.
    static var rotationMatrix: ValueFormat {
        let number: JSONValue = ["type": "number", "minimum": .number(-1.001), "maximum": .number(1.001)]
        return ValueFormat(
            "nine numbers or three rows of three that form a rotation", wantsExample: true,
            [
                .init(
                    "anyOf",
                    [
                        ["type": "array", "minItems": 9, "maxItems": 9, "items": number],
                        [
                            "type": "array", "minItems": 3, "maxItems": 3,
                            "items": ["type": "array", "minItems": 3, "maxItems": 3, "items": number],
                        ],
                        ["type": "string", "pattern": "^[^;]+;[^;]+;[^;]+$"],
                    ])
            ],
            read: { node, _ throws(ValueRefusal) in
                let n = try numbers(of: node)
                let matrix = Matrix3(
                    Vector3(n[0], n[1], n[2]), Vector3(n[3], n[4], n[5]), Vector3(n[6], n[7], n[8]))
                return try rotation(nearestTo: matrix)
            },
            write: { matrix in
                .array(
                    [matrix.row0, matrix.row1, matrix.row2].map { row in
                        .array([.number(row.x), .number(row.y), .number(row.z)])
                    })
            })
    }

    /// The nine numbers of a node, row by row.
    private static func numbers(of node: JSONValue) throws(ValueRefusal) -> [Double] {
        guard let elements = node.elements else { return try numbers(ofKernelText: try node.scalarText()) }
        if elements.first?.elements != nil {
            guard elements.count == 3 else { throw ValueRefusal("is a list of \(elements.count) rows") }
            var numbers: [Double] = []
            for element in elements {
                guard let row = element.elements, row.count == 3 else {
                    throw ValueRefusal("has a row that is not three numbers", at: element.position)
                }
                numbers += try row.map(Self.number)
            }
            return numbers
        }
        guard elements.count == 9 else { throw ValueRefusal("is a list of \(elements.count) values") }
        return try elements.map(Self.number)
    }

    /// The numbers of `1, 0, 0; 0, 1, 0; 0, 0, 1`, the form of IIO's `in_mount_matrix`.
    private static func numbers(ofKernelText text: String) throws(ValueRefusal) -> [Double] {
        let rows = text.split(separator: ";", omittingEmptySubsequences: false)
        var numbers: [Double] = []
        for row in rows {
            let parts = row.split(separator: ",", omittingEmptySubsequences: false)
            guard rows.count == 3, parts.count == 3 else {
                throw ValueRefusal("is not three rows of three numbers")
            }
            for part in parts {
                numbers.append(try finite(String(part.drop { $0 == " " }.trimmingSuffix { $0 == " " })))
            }
        }
        return numbers
    }

    private static func number(_ node: JSONValue) throws(ValueRefusal) -> Double {
        guard let text = node.text else { throw ValueRefusal("has a value that is not a number", at: node.position) }
        do {
            return try finite(text)
        } catch {
            throw ValueRefusal(error.reason, found: error.found, at: node.position)
        }
    }

    private static func finite(_ text: String) throws(ValueRefusal) -> Double {
        guard let number = NumberText.whole(text) else { throw ValueRefusal("is not a number", found: text) }
        guard number.isFinite else { throw ValueRefusal("is too large a number", found: text) }
        return number
    }

    /// The orthonormal matrix nearest to `matrix`, which must itself be orthonormal within a thousandth.
    private static func rotation(nearestTo matrix: Matrix3) throws(ValueRefusal) -> Matrix3 {
        guard matrix.orthonormalityError <= 1e-3 else {
            throw ValueRefusal(
                "is not a rotation: its rows must have length 1 and be at right angles to one another")
        }
        guard matrix.determinant > 0 else {
            throw ValueRefusal("is a reflection, not a rotation: a sign is wrong or two rows are swapped")
        }
        // Newton's iteration for the polar decomposition without an inverse, M (3 - MᵀM) / 2 (Björck & Bowie 1971). It
        // squares the error: three steps reduce 1e-3 to rounding error, and leave matrices of 0 and ±1 exact.
        var result = matrix
        for _ in 0..<3 {
            let square = result.transposed * result
            let factor = Matrix3(
                0.5 * (Vector3(3, 0, 0) - square.row0), 0.5 * (Vector3(0, 3, 0) - square.row1),
                0.5 * (Vector3(0, 0, 3) - square.row2))
            result = result * factor
        }
        return result
    }
}

extension Substring {
    /// The text without the characters at its end that satisfy `predicate`.
    fileprivate func trimmingSuffix(while predicate: (Character) -> Bool) -> Substring {
        var result = self
        while let last = result.last, predicate(last) { result.removeLast() }
        return result
    }
}

extension ValueFormat<String> {
    /// A GPIO chip's name, or the path of its device file.
    static var gpioChip: ValueFormat {
        checked("gpiochip0 … or the path of a GPIO chip", .matching("^(gpiochip[0-9]+|/.+)$"), maximum: 200) {
            text throws(ValueRefusal) in
            let digits = text.hasPrefix("gpiochip") ? text.dropFirst(8) : ""
            let isName = !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber }
            guard isName || text.hasPrefix("/") && text.count > 1 else {
                throw ValueRefusal("is not the name of a GPIO chip")
            }
        }
    }

    /// The number of a GPIO line on its chip, or its name of at most 31 bytes (linux/gpio.h, `GPIO_MAX_NAME_SIZE`).
    static var gpioLine: ValueFormat {
        checked(
            "a line's number, 0 … 65535, or its name",
            [
                .init(
                    "anyOf",
                    [
                        ["type": "integer", "minimum": 0, "maximum": 65535],
                        ["type": "string", "minLength": 1, "maxLength": 31],
                    ])
            ], maximum: 31
        ) { text throws(ValueRefusal) in
            guard text.allSatisfy({ $0.isASCII && $0.isNumber }) else {
                // -1 and 1.5 are mistaken numbers, not names.
                guard NumberText.whole(text) == nil else { throw ValueRefusal("is not a line's number") }
                return
            }
            guard UInt16(text) != nil else { throw ValueRefusal("is out of bounds") }
        }
    }

    /// The version of a Debian package.
    static var packageVersion: ValueFormat {
        checked(
            "the version of a package: at most 64 letters, digits and .+~:-, beginning with a digit",
            .matching("^[0-9][A-Za-z0-9.+~:-]{0,63}$")
        ) { text throws(ValueRefusal) in
            guard JostleSettings.Device.isVersion(text) else { throw ValueRefusal("is not a version") }
        }
    }

    /// A device's id: `[A-Za-z0-9][A-Za-z0-9_-]{0,63}`; it fits into topics and cannot look like a fleet topic.
    static var deviceID: ValueFormat { id("a device's id") }

    /// A group's name: the same characters as a device's id.
    static var groupName: ValueFormat { id("a group's name", prefix: "names of groups: ") }

    /// A rule's name: the same characters as a device's id.
    static var ruleName: ValueFormat { id("a rule's name") }

    private static func id(_ meaning: String, prefix: String = "") -> ValueFormat {
        checked(
            "\(prefix)1 … 64 letters, digits, _ and -, beginning with a letter or digit",
            .matching("^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")
        ) { text throws(ValueRefusal) in
            guard JostleSettings.Device.isID(text) else { throw ValueRefusal("is not \(meaning)") }
        }
    }

    /// The first part of the topics: non-empty levels separated by slashes, no wildcards, none of the broker's own `$`
    /// topics.
    static var topicPrefix: ValueFormat {
        checked(
            "levels separated by /, without +, # and spaces, not beginning with $",
            .matching("^(?!\\$)[^/+#\\s]+(/[^/+#\\s]+)*$"), maximum: 200
        ) { text throws(ValueRefusal) in
            guard !text.hasPrefix("$") else { throw ValueRefusal("begins with $, which is reserved for the broker") }
            guard !text.contains(where: { $0 == "+" || $0 == "#" || $0.isWhitespace }) else {
                throw ValueRefusal("has a wildcard or a space")
            }
            guard text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty }) else {
                throw ValueRefusal("has an empty level")
            }
        }
    }

    /// A web page's URL: http or https, a host, no spaces.
    static var webAddress: ValueFormat {
        checked(
            "a URL that begins with http:// or https://", .matching("^https?://[^/\\s]+(/\\S*)?$"), maximum: 1024
        ) { text throws(ValueRefusal) in
            guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else {
                throw ValueRefusal("is not a web page's URL: it begins neither with http:// nor with https://")
            }
            let rest = text.dropFirst(scheme.count)
            guard let first = rest.first, first != "/", !text.contains(where: \.isWhitespace) else {
                throw ValueRefusal("is not a web page's URL: it has no host, or contains a space")
            }
        }
    }

    /// The name of a host, without a port.
    static var hostName: ValueFormat {
        parsed(
            "a host name such as pi.example.org, without a port", wantsExample: true,
            .matching("^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$"), maximum: 253, write: { $0 }
        ) { text throws(ValueRefusal) in
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
                default: false
                }
            }
            guard isName, text.first != "-", text.first != "." else { throw ValueRefusal("is not a host name") }
            return text.lowercased()
        }
    }

    /// The path below which a proxy serves something: without the slash at its end, and without what a browser would encode.
    static var basePath: ValueFormat {
        checked("a path without a slash at its end", .matching("^(/[A-Za-z0-9._~-]+)+$"), maximum: 128) {
            text throws(ValueRefusal) in
            let names = text.split(separator: "/", omittingEmptySubsequences: false)
            let areNames = names.dropFirst().allSatisfy { name in
                name != "." && name != ".." && !name.isEmpty
                    && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._~-".contains($0)) }
            }
            guard names.count > 1, names[0].isEmpty, areNames else { throw ValueRefusal("is not such a path") }
            // Its files have no such names.
            if ["/login", "/metrics", "/events", "/api"].contains(text) {
                throw ValueRefusal("is an address of the page itself")
            }
        }
    }

    /// Sections and keys that may be changed over MQTT; `*` stands for any characters of a key's name. A fleet can set the
    /// version of the program too.
    static func keyPattern(allowsVersion: Bool) -> ValueFormat {
        checked(
            "sections and keys, such as gestures, sensor.rate or sensor.*_range", .nonEmptyText,
            maximum: RemoteKeys.longest
        ) { text throws(ValueRefusal) in
            if RuleSwitch.isPattern(text) || ConfigurationSchema.isLearnedPattern(text) { return }
            let keys = ConfigurationSchema.paths.filter { RemoteKeys.matches(text, $0) }
            guard !keys.isEmpty else { throw ValueRefusal("is neither a section nor a key") }
            let isVersion = text == RemoteKeys.version
            guard !keys.contains(where: RemoteKeys.isLocalOnly), !isVersion || allowsVersion else {
                throw ValueRefusal("can be set only on the device itself")
            }
        }
    }
}

extension ValueFormat<JostleSettings.Broker> {
    /// `embedded`, the URL of a broker, or a list of URLs.
    static var broker: ValueFormat {
        let url = " *[mM][qQ][tT][tT][sS]?://[^@/?#]+/? *"
        let urls: JSONValue = ["type": "string", "pattern": .string("^\(url)(,\(url))*$")]
        return ValueFormat(
            "embedded, mqtt://host[:port], mqtts://host[:port], or a list of URLs", wantsExample: true,
            [
                .init("anyOf", [["const": "embedded"], urls, ["type": "array", "minItems": 1, "items": urls]])
            ],
            read: { node, _ throws(ValueRefusal) in
                guard let elements = node.elements else {
                    let text = try node.scalarText()
                    return text == "embedded" ? .embedded : .remote(try addresses(text, at: node.position))
                }
                guard !elements.isEmpty else { throw ValueRefusal("is an empty list") }
                var addresses: [BrokerAddress] = []
                for element in elements {
                    guard let text = element.text else {
                        throw ValueRefusal("has an element that is not a URL", at: element.position)
                    }
                    addresses += try Self.addresses(text, at: element.position)
                }
                return .remote(addresses)
            },
            write: { broker in
                switch broker {
                case .embedded: return "embedded"
                case .remote(let addresses) where addresses.count == 1:
                    return .string(addresses[0].description)
                case .remote(let addresses): return .array(addresses.map { .string($0.description) })
                }
            })
    }

    /// The addresses in a text, which may be several with commas between them, and blanks around each.
    private static func addresses(
        _ text: String, at position: DocumentPosition
    ) throws(ValueRefusal) -> [BrokerAddress] {
        do {
            return try text.split(separator: ",", omittingEmptySubsequences: false).map { part throws(ValueRefusal) in
                try BrokerAddress(url: String(part.drop { $0 == " " }.trimmingSuffix { $0 == " " }))
            }
        } catch {
            throw ValueRefusal(error.reason, found: withoutCredentials(text), at: position)
        }
    }

    /// The text without anything before an `@`, because a password must not be logged.
    private static func withoutCredentials(_ text: String) -> String {
        guard let end = text.lastIndex(of: "@") else { return text }
        let scheme = text.firstRange(of: "://").map { text[..<$0.upperBound] } ?? ""
        return "\(scheme)…\(text[end...])"
    }
}

extension ValueFormat<String> {
    /// A template of a client id.
    static var clientID: ValueFormat {
        checked(
            "up to 128 printable ASCII characters without spaces, +, # and braces, with {id} in one place",
            .matching("^[!-\"$-*,-z|~]*\\{id\\}[!-\"$-*,-z|~]*$"), maximum: 128
        ) { text throws(ValueRefusal) in
            guard let place = text.firstRange(of: "{id}") else {
                throw ValueRefusal("has no {id}, so this board's programs would disconnect one another")
            }
            // Brokers refuse wildcards, because their access rules put client ids into topics.
            let rest = text[..<place.lowerBound] + text[place.upperBound...]
            guard rest.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !rest.contains(where: { "+#{}".contains($0) })
            else { throw ValueRefusal("is not a client id with one {id}") }
        }
    }
}

extension ValueFormat<ListeningAddress> {
    /// `HOST:PORT`, with brackets around a numeric IPv6 host.
    static var listeningAddress: ValueFormat {
        parsed(
            "HOST:PORT, such as 127.0.0.1:8088 or [::1]:8088", wantsExample: true,
            .matching("^(\\[[0-9A-Fa-f:.]+\\]|[^:\\s\\[\\]]+):[0-9]{1,5}$"), maximum: 300, write: \.text
        ) { text throws(ValueRefusal) in
            do throws(ListeningAddress.Malformed) {
                return try ListeningAddress(text)
            } catch {
                throw ValueRefusal(error.reason)
            }
        }
    }
}

extension ValueFormat<Template> {
    /// A message's payload: any text, also empty, with placeholders for an event's fields.
    static var payloadTemplate: ValueFormat {
        ValueFormat(
            "text of at most \(maximumPayload) bytes with ${field} for the event's fields",
            [.init("type", ["string", "number", "boolean"])],
            read: { node, _ throws(ValueRefusal) in
                guard node.members == nil, node.elements == nil else {
                    throw ValueRefusal("is not text; put JSON in quotes: '{\"state\": \"TOGGLE\"}'")
                }
                let text = try node.scalarText()
                guard text.utf8.count <= maximumPayload else {
                    throw ValueRefusal("is longer than \(maximumPayload) bytes")
                }
                return try Template(text)
            },
            write: { .string($0.source) })
    }

    /// A message's topic: no wildcards, none of the broker's own `$` topics.
    static var topicTemplate: ValueFormat {
        parsed(
            "a topic without + and #, not beginning with $, with ${field} for the event's fields", wantsExample: true,
            .nonEmptyText + [.init("pattern", "^(?!\\$[^{])[^+#]+$")], maximum: maximumTopic, write: \.source
        ) { text throws(ValueRefusal) in
            let topic = try Template(text)
            for (index, part) in topic.parts.enumerated() {
                switch part {
                case .text(let text), .field(_, fallback: let text):
                    guard !text.contains(where: { $0 == "+" || $0 == "#" }) else {
                        throw ValueRefusal("has a wildcard")
                    }
                    guard index > 0 || !text.hasPrefix("$") else {
                        throw ValueRefusal("begins with $, which is reserved for the broker")
                    }
                    // Brokers may close the connection if they receive one of these (MQTT 5.0, section 1.5.4).
                    guard text.unicodeScalars.allSatisfy({ !$0.properties.isNoncharacterCodePoint }) else {
                        throw ValueRefusal("has a code point that is not a character")
                    }
                }
            }
            for field in topic.fields {
                switch field {
                case .side, .from, .to:
                    throw ValueRefusal("has ${\(field.rawValue)}, which may be +x, and + is a wildcard in topics")
                case .event: throw ValueRefusal("has ${event}, which is not allowed in a topic")
                default: break
                }
            }
            return topic
        }
    }

    /// The longest template of a payload and of a topic, bytes: far above what users write, far below what brokers
    /// accept.
    private static var maximumPayload: Int { 16_384 }
    private static var maximumTopic: Int { 1024 }
}

extension ValueFormat<JostleSettings.TrustedKey> {
    /// A key that may sign a fleet's documents.
    static var trustedKey: ValueFormat {
        parsed(
            "public keys, NAME:BASE64, as jostle fleet keygen prints them",
            .matching("^[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[A-Za-z0-9+/]{43}=$"), write: \.text
        ) { text throws(ValueRefusal) in
            guard let key = JostleSettings.TrustedKey(text) else {
                throw ValueRefusal("is not a public key with a name")
            }
            return key
        }
    }
}

extension ValueFormat<DailySpan> {
    /// A daily period, `22:00-07:00`.
    static var dailySpan: ValueFormat {
        parsed(
            "a time of day from 00:00 to 24:00 such as 22:00-07:00",
            .matching("^ *[0-9]{1,2}:[0-9]{2} *- *[0-9]{1,2}:[0-9]{2} *$"), write: \.text
        ) { text throws(ValueRefusal) in
            guard let span = DailySpan(text) else { throw ValueRefusal("is not a period such as 22:00-07:00") }
            return span
        }
    }
}

extension ValueFormat<AddressRange> {
    /// A numeric address, or a range of them.
    static var addressRange: ValueFormat {
        parsed(
            "a numeric address such as 127.0.0.1, or a range such as 10.0.0.0/8", wantsExample: true,
            .matching("^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$"), maximum: 64, write: \.text
        ) { text throws(ValueRefusal) in
            guard let range = AddressRange(text) else { throw ValueRefusal("is not a numeric address") }
            return range
        }
    }
}

extension ValueFormat<[String]> {
    /// A program by its absolute path, and its arguments.
    static var command: ValueFormat {
        let path = JSONValue.object(.matching("^/[^/]"))
        return ValueFormat(
            "the absolute path of a program, or a list of it and at most 31 arguments", wantsExample: true,
            [
                .init(
                    "anyOf",
                    [
                        path,
                        [
                            "type": "array", "minItems": 1, "maxItems": 32,
                            "items": ["type": ["string", "number", "boolean"]],
                        ],
                    ])
            ],
            read: { node, _ throws(ValueRefusal) in
                let nodes = node.elements ?? [node]
                guard let first = nodes.first else { throw ValueRefusal("is an empty list") }
                guard nodes.count <= 32 else { throw ValueRefusal("has more than 32 elements") }
                var words = [try first.lineOfText(1024)]
                guard words[0].hasPrefix("/"), !words[0].hasSuffix("/") else {
                    throw ValueRefusal("does not begin with the absolute path of a program, such as /bin/siren")
                }
                for node in nodes.dropFirst() {
                    let word = try node.scalarText()
                    guard word.utf8.count <= 4096, !word.utf8.contains(0) else {
                        throw ValueRefusal("has an argument of more than 4096 bytes, or with a zero byte")
                    }
                    words.append(word)
                }
                return words
            },
            write: { words in
                words.count == 1 ? .string(words[0]) : .array(words.map { .string($0) })
            })
    }
}

extension ValueFormat<JostleSettings.Webhook> {
    /// The URL of a webhook, or the file that has it.
    static var webhook: ValueFormat {
        let file = ValueFormat<String>.credentialPath
        return ValueFormat(
            "a URL that begins with http:// or https://, or {url_file: \(file.allowed)}", wantsExample: true,
            [
                .init(
                    "anyOf",
                    [
                        .object(.matching("^https?://[^/\\s]+\\S*$")),
                        [
                            "type": "object", "required": ["url_file"], "additionalProperties": false,
                            "properties": ["url_file": .object(file.constraints)],
                        ],
                    ])
            ],
            read: { node, directory throws(ValueRefusal) in
                guard let members = node.members else {
                    let text = try node.lineOfText(2048)
                    if let reason = JostleSettings.Webhook.refusal(of: text) {
                        // Without its end, which may be a secret.
                        throw ValueRefusal(reason, found: text.count > 12 ? "\(text.prefix(12))…" : text)
                    }
                    return .url(text)
                }
                guard members.count == 1, let member = members.first, member.name == "url_file" else {
                    throw ValueRefusal("is a mapping with other keys than url_file")
                }
                return .file(try file.read(member.value, directory))
            },
            write: { webhook in
                switch webhook {
                case .url(let text): .string(text)
                case .file(let path): .object([.init("url_file", .string(path))])
                }
            })
    }
}
