internal import HTTPServer

/// The text that Prometheus reads: OpenMetrics 1.0, or the older text format 0.0.4.
struct MetricsText {
    enum Format: Sendable {
        case openMetrics, prometheus

        /// The format that a client prefers, by its header `Accept` (RFC 9110, section 12.5.1). Without a preference it is
        /// the older one, which every client reads.
        init(accepted header: String?) {
            var quality = (openMetrics: 0.0, plain: 0.0)
            for item in HeaderItem.list(header) {
                let version = item.parameter("version")
                switch item.value {
                case "application/openmetrics-text" where version == nil || version == "1.0.0":
                    quality.openMetrics = max(quality.openMetrics, item.weight)
                case "text/plain" where version == nil || version == "0.0.4":
                    quality.plain = max(quality.plain, item.weight)
                default: break
                }
            }
            self = quality.openMetrics > 0 && quality.openMetrics >= quality.plain ? .openMetrics : .prometheus
        }

        var contentType: String {
            switch self {
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
            }
        }
    }

    /// The lines of each family, by its name: they must stand together, whatever the order in which they are added.
    private var lines: [String: [UInt8]] = [:]

    /// Adds a sample. `nil`, infinities and what is no number add nothing, and neither does a negative counter: what is
    /// not known is absent.
    mutating func add(_ family: MetricFamily, _ labels: MetricLabels, _ value: Double?) {
        guard let value, value.isFinite, family.kind == .gauge || value >= 0 else { return }
        lines[family.name, default: []].append(contentsOf: family.sampleName.utf8)
        if !labels.bytes.isEmpty {
            lines[family.name]?.append(UInt8(ascii: "{"))
            lines[family.name]?.append(contentsOf: labels.bytes)
            lines[family.name]?.append(UInt8(ascii: "}"))
        }
        lines[family.name]?.append(contentsOf: " \(MetricsText.number(value))\n".utf8)
    }

    /// Adds a sample that is 1 or 0.
    mutating func add(_ family: MetricFamily, _ labels: MetricLabels, _ flag: Bool?) {
        add(family, labels, flag.map { $0 ? 1 : 0 })
    }

    /// Adds a sample without labels.
    mutating func add(_ family: MetricFamily, _ value: Double?) { add(family, MetricLabels(), value) }

    /// Takes the whole text out. A family without samples is left out.
    mutating func takeBytes(_ format: Format) -> [UInt8] {
        var bytes: [UInt8] = []
        // The text of thousands of boards has megabytes: no byte is in memory twice.
        bytes.reserveCapacity(lines.values.reduce(16_384) { $0 + $1.count })
        for family in MetricFamily.all {
            guard let lines = lines.removeValue(forKey: family.name) else { continue }
            bytes += MetricsText.head(of: family, format).utf8
            bytes += lines
        }
        if format == .openMetrics { bytes += "# EOF\n".utf8 }
        return bytes
    }

    private static func head(of family: MetricFamily, _ format: Format) -> String {
        // Both formats escape these; quotes are escaped in OpenMetrics only, so there are none.
        let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        switch format {
        case .openMetrics:
            return "# TYPE \(family.name) \(family.kind.rawValue)\n"
                + (family.unit.map { "# UNIT \(family.name) \($0)\n" } ?? "") + "# HELP \(family.name) \(help)\n"
        case .prometheus:
            // The older format names the samples, and has no infos.
            let kind = family.kind == .info ? "gauge" : family.kind.rawValue
            return "# HELP \(family.sampleName) \(help)\n# TYPE \(family.sampleName) \(kind)\n"
        }
    }

    /// A finite number; a whole one without decimals.
    private static func number(_ value: Double) -> String {
        // Beyond, a Double is not exact to the unit.
        abs(value) < 9e15 && value == value.rounded() ? "\(Int64(value))" : "\(value)"
    }
}

/// The labels of a sample, escaped.
struct MetricLabels: Equatable, Sendable {
    private(set) var bytes: [UInt8] = []

    init() {}

    /// `labels` with their values. A value that is not known is an empty text, which means to Prometheus that there is no
    /// such label.
    init(_ labels: KeyValuePairs<String, String>) {
        for (name, value) in labels { add(name, value) }
    }

    /// The same labels and one more.
    func and(_ name: String, _ value: String) -> MetricLabels {
        var labels = self
        labels.add(name, value)
        return labels
    }

    private mutating func add(_ name: String, _ value: String) {
        if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        bytes += name.utf8
        bytes += "=\"".utf8
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\""): bytes += "\\\"".utf8
            case 0x0A: bytes += "\\n".utf8
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
