internal import Glibc
internal import IMUDrivers
internal import LinuxSensors
internal import MotionCore
internal import MotionKit

/// Two devices of a kernel driver, an accelerometer and a gyroscope, simulated with files and FIFOs. Their frames are
/// read, paired and converted to samples.
struct KernelWork: StageWork, ~Copyable {
    private static let framesAtOnce = 64
    private static let frameLength = 16

    /// Files and directories in the order of their creation.
    private let made: [String]
    private let device: (any SensorDevice)?
    private let streams: (Int32, Int32)
    private let frames: UnsafeMutableRawBufferPointer
    private let clock = SystemClock()
    private var batch = SampleBatch(capacity: 128)
    private var number: Int16 = 0
    var events: Int { 0 }

    init() {
        let root = "/tmp/jostle-bench-\(getpid())"
        let places = SystemPlaces(devices: root + "/dev", system: root + "/sys")
        var made = [root, places.devices, places.system]
        for directory in made { mkdir(directory, 0o700) }
        let accelerometer = KernelWork.make(0, "in_accel", places, &made)
        let gyroscope = KernelWork.make(1, "in_anglvel", places, &made)
        self.made = made
        streams = (accelerometer, gyroscope)
        var device: (any SensorDevice)?
        do throws(SensorError) {
            device = try SensorSelection.openKernelDevice(nil, IMUSettings(), in: places)
        } catch {
            printError("\(error)")
        }
        self.device = device
        frames = .allocate(byteCount: KernelWork.framesAtOnce * KernelWork.frameLength, alignment: 8)
    }

    deinit {
        frames.deallocate()
        close(streams.0)
        close(streams.1)
        for path in made.reversed() { _ = remove(path) }
    }

    mutating func run(_ count: Int) -> Int {
        guard let device else { return 0 }
        var done = 0
        var idle = 0
        while done < count, idle < 1000 {
            feed()
            _ = device.poll(into: &batch)
            idle = batch.isEmpty ? idle + 1 : 0
            // After a pause of this process, the driver starts the devices again, which takes a moment.
            if idle > 100 { usleep(10_000) }
            done += batch.count
            batch.removeAll()
        }
        return done
    }

    /// Makes both devices measure, at intervals of a microsecond up to now.
    private mutating func feed() {
        let end = clock.now().nanoseconds
        for index in 0..<KernelWork.framesAtOnce {
            number &+= 1
            let offset = index * KernelWork.frameLength
            frames.storeBytes(of: number, toByteOffset: offset, as: Int16.self)
            frames.storeBytes(of: -3 &* number, toByteOffset: offset + 2, as: Int16.self)
            frames.storeBytes(of: 4096, toByteOffset: offset + 4, as: Int16.self)
            let age = Int64(KernelWork.framesAtOnce - index) * 1000
            frames.storeBytes(of: end - age, toByteOffset: offset + 8, as: Int64.self)
        }
        _ = write(streams.1, frames.baseAddress, frames.count)
        _ = write(streams.0, frames.baseAddress, frames.count)
    }

    // MARK: The files

    /// Creates a device. Returns the writing end of its FIFO.
    private static func make(_ number: Int, _ prefix: String, _ places: SystemPlaces, _ made: inout [String]) -> Int32 {
        let chip = "\(places.system)/devices/1-006a"
        let path = "\(chip)/iio:device\(number)"
        let bus = "\(places.system)/bus"
        let list = "\(bus)/iio/devices"
        for directory in ["\(places.system)/devices", chip, path, path + "/buffer0", bus, bus + "/iio", list] {
            mkdir(directory, 0o700)
            made.append(directory)
        }
        var attributes = [
            "name": "bench\(number)", "\(prefix)_scale": "0.002392", "sampling_frequency": "200",
            "current_timestamp_clock": "monotonic", "buffer0/enable": "0", "buffer0/length": "2",
            "buffer0/watermark": "1",
        ]
        for (index, axis) in ["\(prefix)_x", "\(prefix)_y", "\(prefix)_z", "in_timestamp"].enumerated() {
            attributes["\(axis)_raw"] = "0"
            attributes["buffer0/\(axis)_en"] = "0"
            attributes["buffer0/\(axis)_index"] = "\(index)"
            attributes["buffer0/\(axis)_type"] = axis == "in_timestamp" ? "le:s64/64>>0" : "le:s16/16>>0"
        }
        for (attribute, value) in attributes { made.append(put(value, path + "/" + attribute)) }
        symlink(path, "\(list)/iio:device\(number)")
        let file = "\(places.devices)/iio:device\(number)"
        mkfifo(file, 0o600)
        made += ["\(list)/iio:device\(number)", file]
        return open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    }

    /// Writes a file. Returns its path.
    private static func put(_ text: String, _ path: String) -> String {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        var line = text + "\n"
        _ = line.withUTF8 { write(file, $0.baseAddress, $0.count) }
        close(file)
        return path
    }
}
