internal import Glibc
package import JostleMessages

/// Counts durations in classes, each a quarter of an octave wide, from 10 µs to 20 minutes.
package struct DurationHistogram: Equatable, Sendable {
    private static let shortest = 1e-5
    private static let classesPerOctave = 4.0
    private static let classes = 108

    private var counts: [Int] = []
    package private(set) var count = 0
    /// The sum of all durations, s.
    package private(set) var sum = 0.0
    /// The longest duration, s.
    package private(set) var longest = 0.0

    package init() {}

    /// Adds a duration, s.
    package mutating func add(_ seconds: Double) {
        if counts.isEmpty { counts = Array(repeating: 0, count: DurationHistogram.classes) }
        counts[DurationHistogram.index(of: seconds)] += 1
        count += 1
        sum += seconds
        longest = max(longest, seconds)
    }

    /// Adds the durations of another histogram.
    package mutating func add(_ other: DurationHistogram) {
        guard other.count > 0 else { return }
        if counts.isEmpty { counts = Array(repeating: 0, count: DurationHistogram.classes) }
        for index in counts.indices { counts[index] += other.counts[index] }
        count += other.count
        sum += other.sum
        longest = max(longest, other.longest)
    }

    /// The duration (s) that this fraction of all does not exceed, at most 19 % too long; `nil` if there are none.
    package func quantile(_ fraction: Double) -> Double? {
        guard count > 0 else { return nil }
        let wanted = max(1, Int((fraction * Double(count)).rounded(.up)))
        var seen = 0
        for (index, number) in counts.enumerated() {
            seen += number
            if seen >= wanted { return min(DurationHistogram.upperBound(of: index), longest) }
        }
        return longest
    }

    /// The numbers of durations: count, quantiles and longest, and each class that is not empty by its upper bound.
    package var json: JSONObject {
        var object = JSONObject()
        object.add("count", Int64(count))
        object.add("p50", quantile(0.5), decimals: 5)
        object.add("p95", quantile(0.95), decimals: 5)
        object.add("longest", count > 0 ? longest : nil, decimals: 5)
        let filled = counts.enumerated().filter { $0.element > 0 }
        object.add("up_to", filled.map { DurationHistogram.upperBound(of: $0.offset) }, decimals: 5)
        object.add("counts", filled.map { Double($0.element) }, decimals: 0)
        return object
    }

    private static func index(of seconds: Double) -> Int {
        guard seconds > shortest else { return 0 }
        return min(classes - 1, Int((log2(seconds / shortest) * classesPerOctave).rounded(.up)))
    }

    private static func upperBound(of index: Int) -> Double { shortest * exp2(Double(index) / classesPerOctave) }
}
