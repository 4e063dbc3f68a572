import Testing

/// The program that runs the tests. The one that SwiftPM would make looks for tests of XCTest too, of which there are none,
/// in an index that takes a tenth of the time of a build.
@main struct TestProgram {
    static func main() async {
        await Testing.__swiftPMEntryPoint() as Never
    }
}
