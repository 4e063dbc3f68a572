import Testing

@testable import JostleAgent

/// Requirement: a broker that is away for long does not fill the log.
@Suite struct ConnectionReportTests {
    @Test func failuresThatRepeatAreToldEverMoreSeldom() {
        let told = (1...100_000).filter(ConnectionReport.isTold)
        #expect(told.prefix(5) == [1, 2, 4, 8, 16] && told.count == 17)
    }
}
