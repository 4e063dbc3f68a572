import BrokerTestSupport
import Foundation
import JostleRuntime
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: the last time that was known to be right lasts beyond the end of the program, and a damaged file of it
/// is as good as none.
@Suite struct MachineClocksTests {
    private let directory = TemporaryDirectory.new()
    private var state: StateDirectory { StateDirectory(path: directory.path) }

    private func write(boot: String, secondsFromNow: Double) throws {
        let wall = WallClock.milliseconds(at: WallClock.monotonic) + Int64(secondsFromNow * 1000)
        try directory.write("jostle last time 1\n\(boot) 5000000000 \(wall)\n", to: "last-time")
    }

    @Test func doubtsClockThatIsBehindTheFile() throws {
        try write(boot: "another", secondsFromNow: 3600)
        var clocks = MachineClocks(state)
        let isSet = clocks.judge(.now(isSet: false), isSynchronised: false).isSet
        let line = clocks.logLine()
        #expect(!isSet && line?.contains("a time that is on disk already") == true)
        let second = clocks.logLine()
        #expect(second == nil)
        // A synchronised machine is right whatever the file says.
        let isRight = clocks.judge(.now(isSet: false), isSynchronised: true).isSet
        let third = clocks.logLine()
        #expect(isRight && third == "the time can be trusted now")
    }

    @Test func readsBackWhatItStores() throws {
        var clocks = MachineClocks(state)
        var now = clocks.read()
        now.isSet = true
        let contents = clocks.contentsToStore(now) ?? []
        try state.write(String(decoding: contents, as: UTF8.self), to: "last-time")
        #expect(try #require(EventTime(lastKnownIn: state)) == EventTime(now.monotonic, now))
        var next = MachineClocks(state)
        let isSet = next.read().isSet
        let line = next.logLine()
        #expect(isSet && line == nil)
    }

    @Test(
        arguments: [
            "", "jostle last time 1", "jostle last time 2\nb 1 1795435200000\n",
            "jostle last time 1\nb 1 1795435200000",
            "jostle last time 1\nb 1\n", "jostle last time 1\nb 1 1795435200000 2\n", "jostle last time 1\nb -1 5\n",
            "jostle last time 1\nb 1 9223372036854775807\n", "jostle last time 1\nb 9223372036854775808 5\n",
            "jostle last time 1\n" + String(repeating: "b", count: 65) + " 1 1795435200000\n",
        ])
    func ignoresDamagedFile(text: String) throws {
        try directory.write(text, to: "last-time")
        #expect(EventTime(lastKnownIn: state) == nil)
    }
}
