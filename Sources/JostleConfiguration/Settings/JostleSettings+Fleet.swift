extension JostleSettings {
    /// Which keys a home may set on the topics `set/<key>`.
    package struct SettingsAccess: Equatable, Sendable {
        /// Sections and keys; an empty list allows none. Default: `gestures`, `attitude`, `publish` and the switches
        /// of rules.
        package var allow = ["gestures", "attitude", "publish", RuleSwitch.pattern]

        package init() {}
    }

    /// The configuration of a fleet over MQTT.
    package struct Fleet: Equatable, Sendable {
        /// The sections and keys that the fleet's layers may set. Smaller limits what an operator, or whoever controls the
        /// broker, can change.
        package var remote = [
            "gestures", "attitude", "publish", "sensor.rate", "sensor.*_range", "home_assistant.discovery",
            RuleSwitch.pattern,
        ]

        /// Seconds for which a new revision is watched before it counts as proven. Default 60. Smaller notices fewer
        /// faults, larger keeps the way back open for longer.
        package var probation = 60.0

        /// The keys whose signatures the fleet's documents need; without any, documents need none. Default: none.
        package var trustedKeys: [TrustedKey] = []

        package init() {}
    }

    /// A key that signs a fleet's documents.
    package struct TrustedKey: Equatable, Sendable {
        /// The name in signatures.
        package var name: String
        /// The public key of Ed25519, 32 bytes in base64.
        package var publicKey: String

        package init(name: String, publicKey: String) {
            self.name = name
            self.publicKey = publicKey
        }

        /// Reads `ops-1:MCow…=`; `nil` if the text is none.
        package init?(_ text: String) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, Device.isID(parts[0]), parts[1].utf8.count == 44, parts[1].hasSuffix("="),
                parts[1].dropLast().allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "+" || $0 == "/") })
            else { return nil }
            self.init(name: parts[0], publicKey: parts[1])
        }

        /// `ops-1:MCow…=`.
        package var text: String { "\(name):\(publicKey)" }
    }
}
