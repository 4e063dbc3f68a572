import Testing

@testable import jostle

/// Requirement: `jostle simulate --on` does not wait for longer than a movement can take, whatever the device answers.
@Suite struct SimulationTimeTests {
    @Test(
        arguments: [
            (3.5, 3.5), (nil, 0), (0, 0), (-1e308, 0), (.nan, 0), (.infinity, 900), (1e308, 900), (-.infinity, 0),
        ] as [(Double?, Double)])
    func announcedTimeIsBounded(announced: Double?, waiting: Double) {
        #expect(SimulateCommand.waitingTime(announced: announced) == waiting)
    }
}
