import Foundation

/// What a process uses, from /proc.
struct ProcessFigures {
    private let identifier: Int32
    private var directory: String { "/proc/\(identifier)" }

    init(_ identifier: Int32) { self.identifier = identifier }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)) ?? ""
    }

    /// The resident memory, kB.
    var memory: Int { ((try? residentMemory(of: identifier)) ?? 0) / 1024 }

    /// The number of open descriptors.
    var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "\(directory)/fd").count) ?? 0 }

    /// How many times the main thread has slept so far.
    var sleeps: Int? {
        let lines = text("task/\(identifier)/status").split(separator: "\n")
        return lines.first { $0.hasPrefix("voluntary_ctxt_switches:") }?.split(separator: "\t").last.flatMap { Int($0) }
    }

    /// The processor time so far, clock ticks.
    private var ticks: Int {
        let fields = (text("stat").components(separatedBy: ") ").last ?? "").split(separator: " ")
        return fields.count > 12 ? (Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0) : 0
    }

    /// The share of a processor in the next second. A program in a loop takes all that it gets.
    func processorShare() async throws -> Double {
        let (before, began) = (ticks, ContinuousClock.now)
        try await Task.sleep(for: .seconds(1))
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        return Double(ticks - before) / Double(sysconf(Int32(_SC_CLK_TCK))) / seconds
    }
}
