import Testing

@testable import jostle

/// Requirement: commands find what the service has stored.
@Suite struct ServiceDirectoryTests {
    @Test func serviceHasItsStateDirectory() {
        #expect(LayersInForce.serviceDirectory(of: "/etc/jostle/jostle.yaml") == "/var/lib/jostle")
        #expect(LayersInForce.serviceDirectory(of: "/etc/jostle/left.yaml") == "/var/lib/jostle/left")
        for file in ["/home/pi/jostle.yaml", "/etc/jostle/conf.d/a.yaml", "/etc/jostle/.yaml", "jostle.yaml"] {
            #expect(LayersInForce.serviceDirectory(of: file) == nil, "\(file)")
        }
    }
}
