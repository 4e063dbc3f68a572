extension ValueFormat<[String]> {
    /// The names of groups, in order.
    static var groupNames: ValueFormat {
        anyNumber(of: .groupName, atMost: JostleSettings.Device.maximumGroups)
    }

    /// Sections and keys that may be changed over MQTT; `*` stands for any characters of a key's name.
    static var keyPatterns: ValueFormat { anyNumber(of: .keyPattern(allowsVersion: false)) }

    /// The same for a fleet, which can set the version of the program too.
    static var fleetKeyPatterns: ValueFormat { anyNumber(of: .keyPattern(allowsVersion: true)) }
}

extension ValueFormat<[JostleSettings.TrustedKey]> {
    /// The keys that may sign a fleet's documents.
    static var trustedKeys: ValueFormat {
        anyNumber(
            of: ValueFormat<JostleSettings.TrustedKey>(
                allowed: "public keys, NAME:BASE64, as jostle fleet keygen prints them", wantsExample: false,
                constraints: [
                    .init("type", "string"),
                    .init("pattern", "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}:[A-Za-z0-9+/]{43}=$"),
                ],
                read: { node, _ throws(ValueRefusal) in
                    guard let key = JostleSettings.TrustedKey(try node.scalarText()) else {
                        throw ValueRefusal("is not a public key with a name")
                    }
                    return key
                },
                write: { .string($0.text) }), atMost: 16)
    }
}

extension ValueFormat<String> {
    /// A group's name: the same characters as a device's id.
    static var groupName: ValueFormat {
        ValueFormat(
            allowed: "names of groups: 1 … 64 letters, digits, _ and -, beginning with a letter or digit",
            wantsExample: false, constraints: deviceID.constraints,
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard JostleSettings.Device.isID(text) else { throw ValueRefusal("is not a group's name") }
                return text
            },
            write: { .string($0) })
    }

    /// A rule's name: the same characters as a device's id.
    static var ruleName: ValueFormat {
        ValueFormat(
            allowed: deviceID.allowed, wantsExample: true, constraints: deviceID.constraints,
            read: { node, _ throws(ValueRefusal) in
                let text = try node.scalarText()
                guard JostleSettings.Device.isID(text) else { throw ValueRefusal("is not a rule's name") }
                return text
            },
            write: { .string($0) })
    }

    fileprivate static func keyPattern(allowsVersion: Bool) -> ValueFormat {
        ValueFormat(
            allowed: "sections and keys, such as gestures, sensor.rate or sensor.*_range", wantsExample: false,
            constraints: [.init("type", "string"), .init("minLength", 1)],
            read: { node, _ throws(ValueRefusal) in
                let text = try lineOfText(node, maximum: RemoteKeys.longest)
                if RuleSwitch.isPattern(text) { return text }
                let keys = ConfigurationSchema.paths.filter { RemoteKeys.matches(text, $0) }
                guard !keys.isEmpty else { throw ValueRefusal("is neither a section nor a key") }
                let isVersion = text == RemoteKeys.version
                guard !keys.contains(where: RemoteKeys.isLocalOnly), !isVersion || allowsVersion else {
                    throw ValueRefusal("can be set only on the device itself")
                }
                return text
            },
            write: { .string($0) })
    }
}
