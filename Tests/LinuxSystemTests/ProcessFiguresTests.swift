import Glibc
import Testing

@testable import LinuxSystem

/// Requirement: the figures of this process are those of the kernel.
@Suite struct ProcessFiguresTests {
    /// From proc_pid_stat(5), with a name that imitates the end of the field.
    private static let text =
        "17 (a) 9 ) S 1 17 17 0 -1 4194560 1 2 3 4 250 50 7 8 20 0 4 0 12345 4096000 500 18446744073709551615 1 1 0"

    @Test func readsTheFieldsAfterTheName() throws {
        let figures = try #require(ProcessFigures(Self.text, bootTime: 1_795_000_000, ticks: 100, pageSize: 4096))
        #expect(figures.processorTime == 3)
        #expect(figures.start == 1_795_000_123.45)
        #expect(figures.virtualMemory == 4_096_000)
        #expect(figures.residentMemory == 2_048_000)
    }

    @Test(arguments: ["", "17", "17 (a", "17 (a) S 1 2", "17 (a) S 1 17 17 0 -1 4194560 1 2 3 4 x y 7 8 20 0 4 0 z"])
    func refusesWhatIsNoSuchText(_ text: String) {
        #expect(ProcessFigures(text, bootTime: 0, ticks: 100, pageSize: 4096) == nil)
    }

    @Test func readsThisProcess() throws {
        let figures = try #require(ProcessFigures.read())
        #expect(figures.start > 1_600_000_000 && figures.start <= Double(time(nil)) + 1)
        #expect(figures.residentMemory > 1_048_576 && figures.virtualMemory >= figures.residentMemory)
        #expect(figures.processorTime > 0)
    }

    @Test func countsOpenDescriptors() throws {
        let before = try #require(ProcessFigures.openDescriptors)
        let descriptors = (0..<300).map { _ in open("/dev/null", O_RDONLY) }
        defer { for descriptor in descriptors { close(descriptor) } }
        // Other tests open and close some meanwhile.
        let after = try #require(ProcessFigures.openDescriptors)
        #expect(after - before > 200)
        #expect(try #require(DescriptorLimit.current) > after)
    }
}
