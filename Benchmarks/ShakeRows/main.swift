// Computes what the shake recognizer sees of recordings, for Scripts/fit-shake. A developer's tool, which is not installed.
//
// Standard input: for each recording the number of its samples (Int32), then four doubles a sample: time, s, and
// acceleration along x, y and z, m/s². Standard output: the number of columns (Int32), then for each recording the
// number of its rows (Int32) and the rows of `ShakeCandidates` (Float). Everything in the byte order of the machine.
internal import Glibc
internal import MotionCore

/// Exit statuses of sysexits.h.
enum ExitStatus: Int32 {
    case success = 0
    case usage = 64
    /// The input ends within a recording (EX_DATAERR).
    case dataError = 65
    /// Standard output cannot be written (EX_IOERR).
    case inputOutput = 74
}

/// Ends the program with a message.
func fail(_ text: String, _ status: ExitStatus) -> Never {
    var line = "shake-rows: \(text)\n"
    _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(status.rawValue)
}

/// Fills a buffer from standard input; returns the number of bytes, fewer only at the end of the input.
func readInput(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    var count = 0
    while count < buffer.count, let start = buffer.baseAddress {
        let got = read(STDIN_FILENO, start + count, buffer.count - count)
        guard got > 0 else { break }
        count += got
    }
    return count
}

func writeOutput(_ bytes: UnsafeRawBufferPointer) {
    var count = 0
    while count < bytes.count, let start = bytes.baseAddress {
        let put = write(STDOUT_FILENO, start + count, bytes.count - count)
        guard put > 0 else { fail("cannot write the rows to standard output", .inputOutput) }
        count += put
    }
}

/// The rows of a recording, one after the other.
func rows(of samples: [Double]) -> [Float] {
    var candidates = ShakeCandidates()
    var rows: [Float] = []
    for first in stride(from: 0, to: samples.count, by: 4) {
        let acceleration = Vector3(samples[first + 1], samples[first + 2], samples[first + 3])
        candidates.update(acceleration, at: Timestamp(seconds: samples[first])) { rows.append(contentsOf: $0) }
    }
    return rows
}

guard CommandLine.arguments.count == 1 else {
    fail("takes no arguments; it reads recordings from standard input for Scripts/fit-shake", .usage)
}
var columns = Int32(ShakeCandidates.columns)
withUnsafeBytes(of: &columns) { writeOutput($0) }
while true {
    var count: Int32 = 0
    let got = withUnsafeMutableBytes(of: &count) { readInput(into: $0) }
    if got == 0 { break }
    guard got == 4, count >= 0 else { fail("the input does not begin with a number of samples", .dataError) }
    var samples = [Double](repeating: 0, count: 4 * Int(count))
    let isWhole = samples.withUnsafeMutableBytes { readInput(into: $0) == $0.count }
    guard isWhole else { fail("the input ends within a recording of \(count) samples", .dataError) }
    let values = rows(of: samples)
    var number = Int32(values.count / ShakeCandidates.columns)
    withUnsafeBytes(of: &number) { writeOutput($0) }
    values.withUnsafeBytes { writeOutput($0) }
}
exit(ExitStatus.success.rawValue)
