internal import Documents
internal import JostleConfiguration
internal import LinuxSystem

/// The parsed command line after the subcommand.
package struct Arguments {
    private var operands: [String] = []
    private var values: [String: [String]] = [:]
    private var switches: Set<String> = []

    /// Whether help was requested.
    package private(set) var wantsHelp = false

    /// Parses words into operands and options: `--name VALUE`, `--name=VALUE`, `--switch`; after `--` all are operands.
    ///
    /// - Throws: status 64 if the words do not match the usage.
    package init(parsing words: [String], for usage: CommandUsage) throws {
        var rest = words[...]
        var optionsEnded = false
        while let word = rest.popFirst() {
            if optionsEnded || word == "-" || !word.hasPrefix("-") {
                operands.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else if word == "--help" || word == "-h" {
                wantsHelp = true
            } else {
                try parseOption(word, &rest, usage)
            }
        }
        if !wantsHelp { try check(usage) }
    }

    private mutating func parseOption(_ word: String, _ rest: inout ArraySlice<String>, _ usage: CommandUsage) throws {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let option = usage.options.first(where: { "--\($0.name)" == parts[0] }) else {
            let names = (usage.options.map(\.name) + ["help"]).map { "--\($0)" }
            throw Arguments.failure(
                "unknown option \(parts[0])\(EditDistance.suggestion(for: parts[0], among: names))", usage)
        }
        guard option.value != nil else {
            guard parts.count == 1 else { throw Arguments.failure("\(parts[0]) takes no value", usage) }
            switches.insert(option.name)
            return
        }
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
            throw Arguments.failure("\(parts[0]) needs a value", usage)
        }
        if !option.isRepeatable, values[option.name] != nil {
            throw Arguments.failure("\(parts[0]) is given twice", usage)
        }
        values[option.name, default: []].append(value)
    }

    private func check(_ usage: CommandUsage) throws {
        let required = usage.operands.filter(\.isRequired)
        if operands.count < required.count {
            throw Arguments.failure("\(required[operands.count].name) is missing", usage)
        }
        if operands.count > usage.operands.count, usage.operands.last?.isRepeatable != true {
            throw Arguments.failure("unexpected argument \"\(operands[usage.operands.count])\"", usage)
        }
    }

    private static func failure(_ text: String, _ usage: CommandUsage) -> Failure {
        Failure(.usage, lines: [text, usage.synopsis, "More: \(usage.invocation) --help"])
    }

    // MARK: Access

    /// The operand at `index`; `nil` if there are fewer.
    package func operand(_ index: Int) -> String? { index < operands.count ? operands[index] : nil }

    /// The operands from `index` on.
    package func operands(from index: Int) -> [String] { Array(operands.dropFirst(index)) }

    /// The value of an option.
    package func value(_ name: String) -> String? { values[name]?.last }

    /// All values of an option that may be repeated.
    package func values(_ name: String) -> [String] { values[name] ?? [] }

    /// Whether an option is given.
    package func has(_ name: String) -> Bool { switches.contains(name) || values[name] != nil }

    /// Refuses more than one of some options.
    package func exclude(_ names: String...) throws {
        guard names.count(where: has) > 1 else { return }
        let options = names.map { "--\($0)" }
        let list = options.dropLast().joined(separator: ", ")
        throw Failure(.usage, "\(list) and \(options.last ?? "") exclude each other")
    }

    /// The value of an option as a positive time in seconds: `30`, `30s`, `30 s`, `10m` or `2h`; at most three years.
    package func seconds(_ name: String, atMost maximum: Double = 1e8) throws -> Double? {
        guard let text = value(name) else { return nil }
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
        let unit = text.last.flatMap { units[$0] }
        let number = unit == nil ? text : String(text.dropLast())
        guard let count = Double(number.filter { $0 != " " }), count > 0, count * (unit ?? 1) <= maximum else {
            let limit = maximum < 1e8 ? ", at most \(formatted(maximum, "%.15g"))" : ""
            throw Failure(
                .usage, "--\(name) is \"\(text)\", not a number of seconds such as 30, 2.5s, 10m or 2h\(limit)")
        }
        return count * (unit ?? 1)
    }

    /// The value of an option as an integer within bounds.
    package func count(_ name: String, within bounds: ClosedRange<Int>) throws -> Int? {
        try value(name, within: bounds, "an integer", { Int($0) }, { "\($0)" })
    }

    /// The value of an option as a number within bounds.
    package func number(_ name: String, within bounds: ClosedRange<Double>) throws -> Double? {
        try value(name, within: bounds, "a number", { Double($0) }, { formatted($0, "%.15g") })
    }

    private func value<Value: Comparable>(
        _ name: String, within bounds: ClosedRange<Value>, _ kind: String, _ read: (String) -> Value?,
        _ written: (Value) -> String
    ) throws -> Value? {
        guard let text = value(name) else { return nil }
        if let value = read(text), bounds.contains(value) { return value }
        let limits = "\(written(bounds.lowerBound)) to \(written(bounds.upperBound))"
        throw Failure(.usage, "--\(name) is \"\(text)\", not \(kind) from \(limits)")
    }
}

/// The option `--broker` of commands that can use another broker than the configured one.
package enum BrokerArgument {
    package static let option = Option(
        "broker", value: "URLS",
        help: "use this broker, mqtt://HOST:PORT, instead of the configured one; several are tried in turn: URL,URL",
        isRepeatable: true)

    /// The settings that the option overrides; none without it.
    package static func overrides(_ arguments: Arguments, replacesCommandBroker: Bool = true) -> [String] {
        let urls = arguments.values("broker").flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        guard !urls.isEmpty else { return [] }
        let value = urls.count == 1 ? urls[0] : JSONValue.array(urls.map { .string($0) }).compactText
        return ["mqtt.broker=\(value)"] + (replacesCommandBroker ? ["mqtt.command_broker="] : [])
    }
}
