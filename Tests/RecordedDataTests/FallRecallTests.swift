import Foundation
import MotionCore
import Testing

/// Falls of the device in public recordings: recognised when it fell, and at no other time.
@Suite(
    .enabled(if: !RecordedData.files(below: "gestures", suffix: ".labels.csv").isEmpty, "no gesture recordings here"))
struct FallRecallTests {
    /// What is counted in one set of recordings.
    private struct Count {
        var fallen = 0
        var found = 0
        var hours = 0.0
        var falseFalls = 0
    }

    /// The sets, each with the most falls that may be missed, and the most that may be found besides. Recordings of other
    /// sets do not count.
    private static let limits: [String: (missed: Int, wrong: Int)] = [
        "fallphone": (1, 0), "motionsense_esp": (2, 0), "car": (0, 0), "geotec": (0, 0), "glove25": (0, 0),
        "grwd": (0, 0), "hwflicks": (0, 0), "microbit": (0, 0), "sisfall": (0, 0), "st_mlc": (0, 0), "svet200": (0, 0),
        "uhh": (0, 0), "unitn_bmi270": (0, 0), "uphony": (0, 0), "washing_rpi_mpu6050": (0, 0), "wiimote": (0, 0),
        "wisdm_watch": (0, 3),
    ]

    @Test func recognisesDropsAndLittleElse() throws {
        var counts: [String: Count] = [:]
        for file in RecordedData.files(below: "gestures", suffix: ".labels.csv") {
            var count = counts[RecordedData.set(of: file)] ?? Count()
            let labels = try ShakeRecallTests.labels(file)
            let falls = try ShakeRecallTests.phases(
                of: .fall, in: file.path.replacingOccurrences(of: ".labels.csv", with: ".csv"))
            for (index, fall) in falls.enumerated() {
                let wanted: [GesturePhase] = index % 2 == 0 ? [.began] : [.ended, .cancelled]
                #expect(wanted.contains(fall.phase), "\(file.lastPathComponent) at \(fall.time) s")
            }
            // A person who falls with the device counts neither as required nor as wrong.
            var unclaimed = falls.filter { $0.phase == .began }.map(\.time)
            for label in labels where label.name == "drop" || label.name == "free_fall" {
                count.fallen += 1
                if let hit = unclaimed.firstIndex(where: { $0 >= label.start - 0.25 && $0 <= label.end + 0.75 }) {
                    count.found += 1
                    unclaimed.remove(at: hit)
                }
            }
            for label in labels where label.name == "fall" || label.name.hasPrefix("ignore:") {
                unclaimed.removeAll { $0 >= label.start - 0.25 && $0 <= label.end + 0.75 }
            }
            count.falseFalls += unclaimed.count
            count.hours += labels.reduce(0) { $0 + ($1.end - $1.start) } / 3600
            counts[RecordedData.set(of: file)] = count
        }
        for (set, count) in counts.sorted(by: { $0.key < $1.key }) {
            guard let limit = Self.limits[set] else { continue }
            #expect(count.fallen - count.found <= limit.missed, "\(set): \(count.found) of \(count.fallen)")
            #expect(count.falseFalls <= limit.wrong, "\(set): \(count.falseFalls) in \(count.hours) h")
        }
        #expect(!counts.isEmpty)
    }
}
