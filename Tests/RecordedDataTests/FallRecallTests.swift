import Foundation
import MotionCore
import Testing

/// Falls of the device in public recordings: recognised when it fell, and at no other time.
@Suite(
    .enabled(if: !RecordedData.files(below: "gestures", suffix: ".labels.csv").isEmpty, "no gesture recordings here"))
struct FallRecallTests {
    @Test func recognisesDropsAndLittleElse() throws {
        var fallen = 0
        var found = 0
        var hours = 0.0
        var falseFalls = 0
        for file in RecordedData.files(below: "gestures", suffix: ".labels.csv") {
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
                fallen += 1
                if let hit = unclaimed.firstIndex(where: { $0 >= label.start - 0.25 && $0 <= label.end + 0.75 }) {
                    found += 1
                    unclaimed.remove(at: hit)
                }
            }
            for label in labels where label.name == "fall" || label.name.hasPrefix("ignore:") {
                unclaimed.removeAll { $0 >= label.start - 0.25 && $0 <= label.end + 0.75 }
            }
            falseFalls += unclaimed.count
            hours += labels.reduce(0) { $0 + ($1.end - $1.start) } / 3600
        }
        #expect(Double(found) >= 0.95 * Double(fallen), "\(found) of \(fallen)")
        #expect(Double(falseFalls) <= 1 + 0.5 * hours, "\(falseFalls) in \(hours) h")
    }
}
