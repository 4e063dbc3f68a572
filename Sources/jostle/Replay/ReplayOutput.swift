internal import JostleCommandLine
internal import MotionCore
internal import MotionKit

/// The output files of a replay.
struct ReplayOutput: ~Copyable {
    private let attitude: OutputFile?
    private let events: OutputFile?

    /// Opens the files that are given and writes their headers.
    init(attitude: String?, events: String?) throws(RecordingError) {
        let attitudeFile = try ReplayOutput.open(attitude, header: "t_s,w,x,y,z\n")
        let eventsFile = try ReplayOutput.open(events, header: EventRow.header)
        self.attitude = attitudeFile
        self.events = eventsFile
        // Assigned here, not as default values: Swift 6.0 would free a default value twice if the initializer throws.
    }

    private static func open(_ path: String?, header: String) throws(RecordingError) -> OutputFile? {
        guard let path else { return nil }
        let file = try OutputFile(path: path)
        try file.write(header)
        return file
    }

    /// Writes the attitude after a row of the recording.
    borrowing func write(_ attitude: Quaternion, time: String) throws(RecordingError) {
        guard self.attitude != nil else { return }
        let numbers = [attitude.w, attitude.x, attitude.y, attitude.z].map { printed($0, "%.9g") }
        let row = time + "," + numbers.joined(separator: ",") + "\n"
        try self.attitude?.write(row)
    }

    /// Writes an event.
    borrowing func write(_ event: GestureEvent, time: String) throws(RecordingError) {
        try events?.write(EventRow.text(event, time: time))
    }

    /// Flushes the files.
    borrowing func flush() throws(RecordingError) {
        try attitude?.flush()
        try events?.flush()
    }
}
