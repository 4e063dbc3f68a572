import FakeI2CAdapter
import Glibc
import IMUDrivers
import LinuxSystem
import MotionCore
import Testing

@testable import LinuxSensors

/// A fake `/dev/gpiochipN` in this process. It exists as long as the test retains it.
private final class FakeGPIO {
    let path = "/dev/gpiochip\(getpid())"

    init(_ configure: (inout fake_gpio_settings) -> Void = { _ in }) throws {
        var settings = fake_gpio_default_settings()
        configure(&settings)
        try #require(fake_gpio_attach(path, &settings), "there is another fake")
    }

    deinit { fake_gpio_detach() }

    func place(_ line: GPIOPlace.Line) -> GPIOPlace { GPIOPlace(chip: path, line: line) }
}

/// Requirement: a line's edges are requested with the right flags and read without blocking.
@Suite(.serialized) struct GPIOLineTests {
    private func edges(of line: inout GPIOLine, room: Int = 64) -> [DataReadyEdge] {
        var edges = [DataReadyEdge](repeating: DataReadyEdge(time: Timestamp(nanoseconds: 0), number: 0), count: room)
        let count = edges.withUnsafeMutableBufferPointer { line.takeEdges(into: $0) }
        return Array(edges.prefix(count))
    }

    @Test func requestsRisingEdgesOnTheMonotonicClock() throws {
        let fake = try FakeGPIO()
        var line = try GPIOLine(fake.place(.number(17)))
        let request = fake_gpio_last_request()
        #expect(request.offset == 17)
        // Input (bit 2) and rising edge (bit 4); neither the realtime nor the hardware clock.
        #expect(request.flags == 0b1_0100)
        #expect(request.event_buffer_size == 1024)
        let consumer = withUnsafeBytes(of: request.consumer) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        #expect(consumer == "jostle")
        #expect(edges(of: &line).isEmpty)
        fake_gpio_raise(1_000_000_123)
        fake_gpio_raise(1_005_000_456)
        #expect(
            edges(of: &line) == [
                DataReadyEdge(time: Timestamp(nanoseconds: 1_000_000_123), number: 1),
                DataReadyEdge(time: Timestamp(nanoseconds: 1_005_000_456), number: 2),
            ])
        #expect(edges(of: &line).isEmpty)
    }

    @Test func findsALineByName() throws {
        let fake = try FakeGPIO()
        let line = try GPIOLine(fake.place(.name("GPIO23")))
        #expect(fake_gpio_last_request().offset == 23)
        #expect("\(line.place)" == "line GPIO23 of \(fake.path)")
        let error = thrown { () throws(GPIOError) in _ = try GPIOLine(fake.place(.name("GPIO99"))) }
        #expect(error?.reason == .noSuchLineName)
        #expect(error?.isConfiguration == true)
    }

    @Test func releasesTheLine() throws {
        let fake = try FakeGPIO()
        do {
            let line = try GPIOLine(fake.place(.number(5)))
            _ = line.place
            #expect(fake_gpio_is_requested())
        }
        #expect(!fake_gpio_is_requested())
    }

    @Test func lostEventsLeaveAGapInTheNumbers() throws {
        let fake = try FakeGPIO()
        var line = try GPIOLine(fake.place(.number(17)))
        for index in 0..<1100 { fake_gpio_raise(Int64(index) * 1000) }
        var all: [DataReadyEdge] = []
        while true {
            let some = edges(of: &line, room: 50)
            if some.isEmpty { break }
            all += some
        }
        #expect(all.count == 1024)
        #expect(all.first?.number == 77)
        #expect(all.last?.number == 1100)
    }

    @Test func reportsWhyALineCannotBeUsed() throws {
        let fake = try FakeGPIO { settings in
            settings.busy_line = 4
            withUnsafeMutableBytes(of: &settings.busy_consumer) { $0.copyBytes(from: "spi0 CS0".utf8) }
        }
        let busy = try #require(thrown { () throws(GPIOError) in _ = try GPIOLine(fake.place(.number(4))) })
        #expect(busy.reason == .inUse(consumer: "spi0 CS0"))
        #expect("\(busy)".contains("\"spi0 CS0\" uses it"))
        #expect(busy.failure == SystemFailure(code: EBUSY) && !busy.isConfiguration)
        let far = try #require(thrown { () throws(GPIOError) in _ = try GPIOLine(fake.place(.number(54))) })
        #expect(far.reason == .noLine(count: 54))
        #expect("\(far)".contains("0 to 53"))
        let missing = GPIOPlace(chip: "gpiochip98765", line: .number(1))
        let none = try #require(thrown { () throws(GPIOError) in _ = try GPIOLine(missing) })
        #expect(none.reason == .noChip)
        #expect(none.advice?.contains("gpioinfo") == true)
        let file = GPIOPlace(chip: "/dev/null", line: .number(1))
        #expect(thrown { () throws(GPIOError) in _ = try GPIOLine(file) }?.reason == .notAChip)
    }

    @Test(
        arguments: [(ENXIO, .noInterrupts), (EPERM, .accessDenied), (EIO, .cannotRequest)]
            as [(Int32, GPIOError.Reason)])
    func mapsTheKernelsErrors(code: Int32, reason: GPIOError.Reason) throws {
        let fake = try FakeGPIO { $0.request_error = code }
        let error = thrown { () throws(GPIOError) in _ = try GPIOLine(fake.place(.number(17))) }
        #expect(error?.reason == reason)
        #expect(error?.failure == SystemFailure(code: code))
    }

    @Test func advisesOnMissingPermission() throws {
        let fake = try FakeGPIO { $0.open_error = EACCES }
        let error = try #require(thrown { () throws(GPIOError) in _ = try GPIOLine(fake.place(.number(17))) })
        #expect(error.reason == .accessDenied)
        #expect("\(error)".hasSuffix("\(fake.path) cannot be opened: Permission denied"), "\(error)")
        #expect(error.advice?.contains("usermod -aG gpio") == true)
    }
}
