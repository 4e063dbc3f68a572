internal import Glibc
internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore

/// Reads an MPU-6050 on one of this machine's buses as the agent does, with driver, attitude filter and all ten
/// gestures.
struct BusRun {
    /// Sample rate, Hz, and interval between FIFO reads, seconds.
    static let rate = 1000.0
    static let batchInterval = 0.02
    static let address: UInt8 = 0x68

    /// The default duration of a run, seconds.
    static let defaultSeconds = 20.0

    /// The figures since the chip started delivering samples.
    private(set) var samples: UInt64 = 0
    private(set) var lost: UInt64 = 0
    private(set) var gaps: UInt64 = 0
    private(set) var busErrors: UInt64 = 0
    private(set) var gestures = 0
    /// Whether the thread has real-time priority.
    let hasRealTimePriority: Bool
    /// Wall-clock time, and CPU time (user and system), seconds.
    private(set) var seconds = 0.0
    private(set) var processorTime = 0.0

    /// CPU time per sample, microseconds.
    var microsecondsPerSample: Double { 1e6 * processorTime / Double(max(1, samples)) }

    /// Reads for `limit` seconds after the first samples.
    ///
    /// - Throws: why the chip cannot be used.
    init(path: String, seconds limit: Double) throws(LinuxSensorsError) {
        var settings = IMUSettings()
        settings.rate = BusRun.rate
        settings.batchInterval = BusRun.batchInterval
        let clock = SystemClock()
        hasRealTimePriority = RealTimePriority.claim()
        var driver = MPU6050(
            bus: try I2CDevice(path: path, address: BusRun.address), clock: clock, settings: settings,
            line: NoDataReadyLine())
        var pipeline = MotionPipeline()
        var batch = SampleBatch(capacity: 128)
        var before: (status: IMUStatus, time: Timestamp, processor: Double)?
        let start = clock.now()
        while true {
            batch.removeAll()
            let next = driver.poll(into: &batch).next
            var events = 0
            for index in 0..<batch.count { pipeline.process(batch[index]) { _ in events += 1 } }
            gestures += events
            let now = clock.now()
            if let before {
                if now.seconds(since: before.time) >= limit {
                    take(driver.status, since: before.status)
                    seconds = now.seconds(since: before.time)
                    processorTime = BusRun.processorTime - before.processor
                    break
                }
            } else if driver.status.samples > 0 {
                before = (driver.status, now, BusRun.processorTime)
            } else if now.seconds(since: start) > 5 {
                break
            }
            SystemClock.sleep(until: next)
        }
        do throws(BusError) {
            try driver.stop()
        } catch {
            printError("the chip could not be put to sleep")
        }
    }

    private mutating func take(_ status: IMUStatus, since before: IMUStatus) {
        samples = status.samples - before.samples
        lost = status.lostSamples - before.lostSamples
        gaps = status.gaps - before.gaps
        busErrors = status.busErrors.total - before.busErrors.total
    }

    /// The CPU time of this process, user and system (`getrusage`).
    private static var processorTime: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + 1e-6 * Double(time.tv_usec) }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}

/// The result of a run, as text or as a JSON object.
func report(_ run: BusRun, asJSON: Bool) -> String {
    let cost = fixed(run.microsecondsPerSample, decimals: 3)
    guard asJSON else {
        return """
            \(run.samples) samples in \(fixed(run.seconds, decimals: 1)) s, \(run.lost) lost in \(run.gaps) gaps, \
            \(run.busErrors) bus errors, \(run.gestures) gesture events
            \(cost) µs of CPU time per sample, user and system, \(run.hasRealTimePriority ? "with" : "without") \
            real-time priority

            """
    }
    let fields = [
        "\"samples\": \(run.samples)", "\"seconds\": \(fixed(run.seconds, decimals: 3))", "\"lost\": \(run.lost)",
        "\"gaps\": \(run.gaps)", "\"bus_errors\": \(run.busErrors)", "\"us_per_sample\": \(cost)",
        "\"real_time\": \(run.hasRealTimePriority)",
    ]
    return "{\(fields.joined(separator: ", "))}\n"
}
