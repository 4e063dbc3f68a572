// The libFuzzer targets of Jostle's decoders. `Scripts/fuzz` builds and runs them.
//
// A target gets any bytes. It must neither crash nor hang nor use much memory, and what it decodes must satisfy the
// conditions that the target checks with `require`.
import Glibc

/// The targets by name. The environment variable JOSTLE_FUZZ_TARGET chooses one.
private let targets: [String: @Sendable ([UInt8]) -> Void] = [
    "documents": decodeDocument,
    "yaml": decodeYAML,
    "json": decodeJSON,
    "recording": decodeRecording,
    "calibration": decodeCalibration,
    "state": decodeState,
    "template": decodeTemplate,
    "outbox": decodeOutbox,
    "iio": decodeIIOFrames,
    "mpu": { driveChip(.mpu, $0) },
    "lsm6ds": { driveChip(.lsm6ds, $0) },
    "bmi160": { driveChip(.bmi160, $0) },
    "icm42688": { driveChip(.icm42688, $0) },
    "icm20948": { driveChip(.icm20948, $0) },
    "adxl345": { driveChip(.adxl345, $0) },
    "lsm9ds1": { driveChip(.lsm9ds1, $0) },
    "lis3dh": { driveChip(.lis3dh, $0) },
]

private let target: @Sendable ([UInt8]) -> Void = {
    let name = getenv("JOSTLE_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = targets[name] else {
        let text = "JOSTLE_FUZZ_TARGET must be one of: \(targets.keys.sorted().joined(separator: " "))\n"
        _ = write(STDERR_FILENO, text, text.utf8.count)
        exit(64)
    }
    return target
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func decode(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt {
    target(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}

/// Ends the program if a condition does not hold; unlike `assert`, in optimised code as well.
func require(_ condition: Bool, _ text: @autoclosure () -> String) {
    if !condition { fatalError(text()) }
}
