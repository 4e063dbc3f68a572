package import MotionCore
package import StateStorage
internal import Synchronization

/// What a board has learnt about its machine, as other threads see it and as it is stored.
package struct MachineKnowledge: Equatable, Sendable {
    package static let count = VibrationBands.count * MachineMemory.cells

    package var experience = MachineExperience()
    /// The histograms of the bands while the machine is off, s.
    package var seconds = [Float](repeating: 0, count: MachineKnowledge.count)
    package var deviation: MachineDeviation?

    package init() {}

    /// The power of a band that it has at least for nine tenths of the time while the machine is off, dB; `nil` before anything was
    /// seen.
    package func floor(of band: Int) -> Float? {
        let start = band * MachineMemory.cells
        let total = seconds[start..<(start + MachineMemory.cells)].reduce(0, +)
        return total > 0 ? MachineMemory.floor(total: total) { seconds[start + $0] }.low : nil
    }

    /// Copies the pipeline's memory. Nothing is allocated.
    mutating func take(_ memory: borrowing MachineMemory, _ deviation: MachineDeviation?) {
        experience = memory.runs
        for index in 0..<MachineKnowledge.count { seconds[index] = memory.seconds(at: index) }
        self.deviation = deviation
    }

    /// Has the pipeline start with this.
    func restore(_ pipeline: inout MotionPipeline) {
        pipeline.withMachineMemory { memory in memory.restore(experience) { seconds[$0] } }
        pipeline.resumeMachine(deviation)
    }
}

/// The file in a state directory with what the board has learnt about its machine. A running manager saves it by itself.
package struct MachineStore: Sendable {
    private let directory: StateDirectory

    private static let file = "machine"
    private static let title = "jostle machine 1"
    private static let end = "end"

    /// The knowledge in a state directory, which need not exist yet.
    package init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory)
    }

    /// The file, whether it exists or not.
    var path: String { directory.path(of: MachineStore.file) }

    /// What is stored, or `nil` if there is nothing that can be read. A change that `writer` has not written yet takes
    /// precedence.
    package func load(pendingIn writer: StateWriter? = nil) -> MachineKnowledge? {
        guard case .text(let text) = directory.read(MachineStore.file, limit: 1 << 17, pendingIn: writer) else {
            return nil
        }
        return MachineStore.read(text)
    }

    /// The content of the file.
    static func text(of knowledge: MachineKnowledge) -> String {
        let runs = knowledge.experience
        var lines = [
            title, "# Powers in dB of 1 m²/s⁴, octave by octave; seconds, m/s², Hz",
            "runs \(runs.count) \(runs.shortest) \(runs.longestPause) \(runs.peak) \(runs.isConfirmed ? 1 : 0)",
            "running \(runs.runningSeconds) \(numbers(runs.running))",
            "gravity \(runs.gravity.x) \(runs.gravity.y) \(runs.gravity.z)",
        ]
        for index in 0..<MachineSpeeds.count where runs.speeds[index].runs > 0 {
            let speed = runs.speeds[index]
            lines.append("speed \(speed.frequency) \(speed.runs) \(numbers(speed.low)) \(numbers(speed.high))")
        }
        if let deviation = knowledge.deviation { lines.append("deviation \(deviation.band) \(deviation.decibels)") }
        for band in 0..<VibrationBands.count {
            let cells = (0..<MachineMemory.cells).compactMap { cell in
                let seconds = knowledge.seconds[band * MachineMemory.cells + cell]
                return seconds >= 0.1 ? "\(cell):\((seconds * 10).rounded() / 10)" : nil
            }
            if !cells.isEmpty { lines.append("off \(band) \(cells.joined(separator: " "))") }
        }
        return lines.joined(separator: "\n") + "\n\(end)\n"
    }

    private static func numbers(_ values: SIMD16<Float>) -> String {
        (0..<VibrationBands.count).map { "\((values[$0] * 100).rounded() / 100)" }.joined(separator: " ")
    }

    /// Reads the content of the file; `nil` if it is damaged.
    static func read(_ text: String) -> MachineKnowledge? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 3, lines[0] == title, lines[lines.count - 2] == end, lines.last == "" else { return nil }
        var knowledge = MachineKnowledge()
        var speeds = 0
        for line in lines[1..<(lines.count - 2)] where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            guard let key = words.first, read(key, words.dropFirst(), &knowledge, &speeds) else { return nil }
        }
        return knowledge
    }

    private static func read(
        _ key: Substring, _ words: ArraySlice<Substring>, _ knowledge: inout MachineKnowledge, _ speeds: inout Int
    ) -> Bool {
        if key == "off" {
            guard let band = words.first.flatMap({ Int($0) }), (0..<VibrationBands.count).contains(band) else {
                return false
            }
            for word in words.dropFirst() {
                let pair = word.split(separator: ":")
                guard pair.count == 2, let cell = Int(pair[0]), (0..<MachineMemory.cells).contains(cell),
                    let seconds = Float(pair[1]), seconds.isFinite, seconds >= 0
                else { return false }
                knowledge.seconds[band * MachineMemory.cells + cell] = seconds
            }
            return true
        }
        let values = words.compactMap { Float($0) }
        guard values.count == words.count, values.allSatisfy(\.isFinite) else { return false }
        switch (key, values.count) {
        case ("runs", 5):
            knowledge.experience.count = Int(max(0, min(9999, values[0])))
            knowledge.experience.shortest = values[1]
            knowledge.experience.longestPause = values[2]
            knowledge.experience.peak = values[3]
            knowledge.experience.isConfirmed = values[4] == 1
        case ("running", 1 + VibrationBands.count):
            knowledge.experience.runningSeconds = max(0, values[0])
            knowledge.experience.running = bands(values[1...])
        case ("gravity", 3):
            knowledge.experience.gravity = SIMD4(values[0], values[1], values[2], 0)
        case ("speed", 2 + 2 * VibrationBands.count) where speeds < MachineSpeeds.count:
            var speed = MachineSpeeds.Range()
            speed.frequency = values[0]
            speed.runs = Int(max(0, min(9999, values[1])))
            speed.low = bands(values[2...])
            speed.high = bands(values[(2 + VibrationBands.count)...])
            knowledge.experience.speeds[speeds] = speed
            speeds += 1
        case ("deviation", 2) where (1..<Float(VibrationBands.count)).contains(values[0]):
            knowledge.deviation = MachineDeviation(
                band: Int(values[0]), decibels: values[1], since: Timestamp(nanoseconds: 0))
        default: return false
        }
        return true
    }

    private static func bands(_ values: ArraySlice<Float>) -> SIMD16<Float> {
        var result = SIMD16<Float>.zero
        for (band, value) in values.prefix(VibrationBands.count).enumerated() { result[band] = value }
        return result
    }
}

/// Saves what was learnt about the machine while a manager runs.
final class MachineSaver: Sendable {
    private let store: MachineStore?
    private let writer: StateWriter
    private let saved: Mutex<(knowledge: MachineKnowledge, time: Timestamp?)>

    /// Seconds between two writes of what is learnt while the machine is off.
    private static let interval = 3600.0

    /// Loads the stored knowledge; without a store nothing is loaded or saved.
    init(store: MachineStore?, writer: StateWriter) {
        self.store = store
        self.writer = writer
        saved = Mutex((store?.load(pendingIn: writer) ?? MachineKnowledge(), nil))
    }

    /// What was last loaded or saved.
    var knowledge: MachineKnowledge { saved.withLock { $0.knowledge } }

    /// Saves the knowledge, at once if the machine's runs or deviation have changed. Does not wait for the disk.
    func save(_ knowledge: MachineKnowledge, at now: Timestamp, isLast: Bool = false) {
        guard let store else { return }
        saved.withLock { saved in
            let isUrgent =
                knowledge.experience.count != saved.knowledge.experience.count
                || knowledge.experience.isConfirmed != saved.knowledge.experience.isConfirmed
                || knowledge.deviation != saved.knowledge.deviation || isLast && knowledge != saved.knowledge
            let isDue = saved.time.map { now.seconds(since: $0) >= MachineSaver.interval } ?? false
            if saved.time == nil { saved.time = now }
            guard isUrgent || isDue, knowledge != saved.knowledge else { return }
            saved = (knowledge, now)
            writer.write(Array(MachineStore.text(of: knowledge).utf8), to: store.path)
        }
    }
}
