import Foundation
import Testing

/// Requirement: a whole program can run with the fake adapter, which replaces nothing else on its system.
@Suite struct PreloadTests {
    private let device = FakeAdapter.unusedPath()

    @Test func aProgramFindsTheChip() throws {
        let helper = try HelperProcess(["identify", device, "104"], fake: device, options: "bcm2835,who=0x71")
        #expect(helper.answer() == "71")
        #expect(helper.finish() == 0)
    }

    @Test(arguments: [
        ("busy", "kernel driver"), ("open=EACCES", "Permission denied"), ("fail=1x3:ETIMEDOUT:5", "timedOut"),
        ("address=0x69", "notAcknowledged"), ("funcs=0x10000", "cannot read registers"),
    ])
    func aProgramReportsTheFault(options: String, message: String) throws {
        let helper = try HelperProcess(["identify", device, "104"], fake: device, options: options)
        let answer = helper.answer()
        #expect(answer.contains(message), "\(answer)")
        #expect(helper.finish() == 1)
    }

    @Test(arguments: ["shake=2", "fail=1", "fail=1:EWRONG", "ppm=", "busy=1", "clock=-1", "who=0x100", "nonsense"])
    func anInvalidOptionEndsTheProgram(options: String) throws {
        let helper = try HelperProcess(["identify", device, "104"], fake: device, options: options)
        #expect(helper.answer() == "")
        #expect(helper.finish() == 64)
    }

    @Test func doesNotFakeOtherPaths() throws {
        let helper = try HelperProcess(["identify", device + "1", "104"], fake: device)
        let answer = helper.answer()
        #expect(answer.contains("cannot be opened"), "\(answer)")
        #expect(helper.finish() == 1)
    }
}
