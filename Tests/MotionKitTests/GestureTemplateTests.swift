import BrokerTestSupport
import LinuxSystem
import MotionCore
import Testing

@testable import MotionKit

/// Requirement: the file of a learned gesture is read as it was written, and a damaged one is refused with its line.
@Suite struct GestureTemplateTests {
    private let template: GestureTemplate

    init() throws {
        let name = try #require(GestureName("circle_2"))
        let examples = (0..<3).map { example in
            (0..<20 + example).map { MotionFrame(encoded: [Int16($0), -3, 64, Int16(-$0), 5, Int16(example)]) }
        }
        template = GestureTemplate(name: name, LearnedGesture(examples: examples, threshold: 0.8125))
    }

    @Test func isReadAsItWasWritten() throws {
        let again = try GestureTemplate(template.text)
        #expect(again == template && again.exampleCount == 3 && again.threshold == 0.8125)
        #expect(again.text == template.text)
    }

    @Test func everyChangeIsNoticed() throws {
        let text = template.text
        for (index, character) in text.enumerated() where index % 37 == 0 && character != "\n" {
            var damaged = Array(text)
            damaged[index] = character == "1" ? "2" : "1"
            #expect(throws: GestureTemplate.Failure.self) { try GestureTemplate(String(damaged)) }
        }
        #expect(throws: GestureTemplate.Failure.self) { try GestureTemplate(String(text.dropLast(30))) }
        #expect(throws: GestureTemplate.Failure.damaged(line: 1)) { try GestureTemplate("") }
        #expect(throws: GestureTemplate.Failure.version("2")) {
            try GestureTemplate(text.replacing("jostle gesture 1", with: "jostle gesture 2"))
        }
    }

    /// A template may come from a foreign message: whatever numbers it has, it can be compared with.
    @Test(arguments: [0, 1, Int16.max, Int16.min]) func anyNumbersCanBeRecognised(number: Int16) throws {
        let lengths = [5, 5, 20, 60, 125, 125, 125, 125]
        let examples = lengths.map { count in
            (0..<count).map { MotionFrame(encoded: [number, $0 % 2 == 0 ? number : 0, 0, number, 0, number]) }
        }
        let template = try GestureTemplate(
            GestureTemplate(name: try #require(GestureName("any")), LearnedGesture(examples: examples, threshold: 0.01))
                .text)
        var reader = ExampleReader(MotionSettings(), known: [template])
        for index in 0..<2000 {
            let force = Vector3(0, index / 100 % 2 == 0 ? 0 : 20 * Double(index % 7), 9.8)
            reader.add(
                MotionSample(
                    timestamp: Timestamp(seconds: Double(index) / 100), acceleration: force, rotationRate: .zero,
                    flags: .rotationRate))
        }
        let learned = reader.take().learned
        #expect(learned.allSatisfy { $0.confidence?.isFinite ?? false })
    }

    @Test func namesAreLikeTopics() {
        for name in ["a", "circle", "k9_x", String(repeating: "a", count: 32)] {
            #expect(GestureName(name)?.description == name)
        }
        for name in ["", "9a", "_a", "Circle", "kreis-1", "é", "a/b", String(repeating: "a", count: 33)] {
            #expect(GestureName(name) == nil, "\(name)")
        }
    }

    @Test func everydayMovementIsReadAsItWasWritten() throws {
        var movement = EverydayMovement()
        let frames = (0..<60).map { MotionFrame(encoded: [Int16($0 % 20) * 8, 64, -64, 128, 0, 2]) }
        let rest = [MotionFrame](repeating: MotionFrame(encoded: [0, 0, 0, 0, 0, 0]), count: 40)
        movement.add((rest + frames + rest + frames).map { SampledFrame($0) }, activity: "brushing teeth")
        #expect(movement.stretches.count == 2)
        let directory = TemporaryDirectory.new()
        try FileContents.replace(directory.path("everyday"), with: movement.bytes)
        let again = try #require(try EverydayMovement(path: directory.path("everyday")))
        #expect(
            again.stretches.map(\.activity) == ["brushing teeth", "brushing teeth"] && again.bytes == movement.bytes)
        try FileContents.replace(directory.path("everyday"), with: Array(movement.bytes.dropLast()))
        #expect(try EverydayMovement(path: directory.path("everyday")) == nil)
    }
}
