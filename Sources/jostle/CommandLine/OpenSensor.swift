internal import JostleAgent
internal import JostleConfiguration
internal import LinuxSensors
internal import LinuxSystem
internal import MotionKit

/// Opens the sensor for a command that needs exclusive access.
enum OpenSensor {
    /// Opens it. If the sensor is in use, the error explains how to stop the service before `purpose` and how to start
    /// it again afterwards.
    ///
    /// - Throws: the sensor's failure with its exit status.
    static func open(
        _ settings: JostleSettings, before purpose: String
    ) throws -> any SensorDevice {
        do {
            return try settings.sensorSelection.open(settings.imu)
        } catch {
            guard error.isInUse else { throw error }
            throw error.failure.adding(
                "If the service uses it: sudo systemctl stop jostle, \(purpose), sudo systemctl start jostle")
        }
    }
}

extension SensorError {
    /// Whether another program uses the chip.
    fileprivate var isInUse: Bool {
        switch self {
        case .unavailable(let error): error.isInUse
        case .notFound(let scan): scan.chipInUse != nil
        default: false
        }
    }
}

extension SensorScan {
    /// The first chip that another program uses, and that program; `nil` if there is none.
    var chipInUse: (place: ChipAddress, holder: ChipLock.Holder)? {
        for bus in buses {
            for chip in bus.chips {
                guard case .taken(let error) = chip.finding, case .inUse(let holder) = error.reason else { continue }
                return (ChipAddress(bus: bus.path, address: chip.address), holder)
            }
        }
        return nil
    }
}

extension SensorScan.ChipReport {
    /// Whether nothing answers at the address.
    var isSilent: Bool { if case .silent = finding { true } else { false } }
}

extension LinuxSensorsError {
    fileprivate var isInUse: Bool {
        if case .inUse = reason { true } else { false }
    }
}

extension CalibrationStore {
    /// A chip's calibration; an empty one if there is none, or if it cannot be used, which `warn` is told.
    func load(_ name: String, or warn: (String) -> Void) -> StoredCalibration {
        do {
            return try load(name) ?? StoredCalibration()
        } catch {
            warn("\(error)")
            return StoredCalibration()
        }
    }
}
