// The decoders of files: configuration, recordings, and what is in the state directory.
import Glibc

@testable import Documents
@testable import JostleAgent
@testable import JostleConfiguration
@testable import JostleMessages
@testable import LinuxSystem
@testable import MosquittoClient
@testable import MotionCore
@testable import MotionKit
@testable import StateStorage

/// A directory in memory, for files that a decoder opens itself. It ends with the process only by name: the script
/// removes it.
private let directory: String = {
    let root = getenv("JOSTLE_FUZZ_DIRECTORY").map { String(cString: $0) } ?? "/tmp"
    let path = "\(root)/\(getpid())"
    mkdir(path, 0o700)
    return path
}()

private func write(_ bytes: [UInt8], to name: String) -> String {
    let path = "\(directory)/\(name)"
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    require(file >= 0 && Glibc.write(file, bytes, bytes.count) == bytes.count, "cannot write \(path)")
    close(file)
    return path
}

// MARK: Configuration

/// A problem is at a line that the text has, and what is accepted is within the limits.
func decodeYAML(_ bytes: [UInt8]) {
    let lines = bytes.count { $0 == 0x0A || $0 == 0x0D } + 1
    var builder = ConfigurationBuilder()
    do {
        builder.apply(try YAMLReader.read(bytes, source: .file("fuzz.yaml")), directory: "/etc/jostle/")
    } catch {
        require("\(error)".utf8.count < 2000, "a long message: \(error)")
        let line = error.position.line
        require(line <= lines + 1, "line \(line) of \(lines)")
    }
    _ = try? builder.finish()
}

/// What is read is the same after it was written and read again.
func decodeJSON(_ bytes: [UInt8]) {
    do {
        let value = try JSONValue(message: bytes, topic: "fuzz")
        let text = value.compactText
        do {
            let again = try JSONValue(message: Array(text.utf8), topic: "fuzz")
            require(again == value, "read differently: \(text)")
        } catch {
            fatalError("what was written cannot be read: \(error)")
        }
    } catch {
        require("\(error)".utf8.count < 2000, "a long message: \(error)")
    }
    _ = try? JSONReader.read(bytes, source: .message("fuzz"))
    guard let request = ProgramRequest(bytes) else { return }
    require(ProgramRequest(request.bytes) == request, "a request is read differently")
    require(request.variables.keys.allSatisfy { $0.hasPrefix("JOSTLE_") }, "a variable with another name")
}

// MARK: Recordings

/// Every sample is finite, times increase, and the attitude that follows from the samples is one.
func decodeRecording(_ bytes: [UInt8]) {
    let path = write(bytes, to: "recording.csv")
    do throws(RecordingError) {
        var reader = try RecordingReader(path: path)
        var pipeline = MotionPipeline(unknownRanges: reader.unknownRanges)
        var last: Timestamp?
        while let sample = try reader.next() {
            require(
                sample.acceleration.length.isFinite && sample.rotationRate.length.isFinite, "a value is not finite")
            if let last { require(sample.timestamp > last, "the time does not increase") }
            last = sample.timestamp
            pipeline.process(sample) { event in require(event.strength?.isNaN != true, "a strength is not a number") }
            let attitude = pipeline.state.attitude
            require(abs(attitude.normSquared - 1) < 1e-6, "not a rotation: \(attitude)")
        }
    } catch {
        require("\(error)".utf8.count < 2000, "a long message: \(error)")
    }
}

// MARK: The state directory

/// What is read is the same after it was written and read again.
func decodeCalibration(_ bytes: [UInt8]) {
    guard let calibration = try? CalibrationText.read(String(decoding: bytes, as: UTF8.self)) else { return }
    let text = CalibrationText.written(calibration)
    guard let again = try? CalibrationText.read(text) else { fatalError("what was written cannot be read: \(text)") }
    require(CalibrationText.written(again) == text, "read differently: \(text)")
}

/// The lines get their checksum here. What is read is the same after it was written and read again, and can be recognised.
func decodeTemplate(_ bytes: [UInt8]) {
    let body = String(decoding: bytes, as: UTF8.self)
    _ = try? GestureTemplate(body)
    let lines = body.split(separator: "\n", omittingEmptySubsequences: false)
    let text = body + "\nchecksum \(GestureTemplate.checksum(lines))\n"
    let template: GestureTemplate
    do { template = try GestureTemplate(text) } catch {
        require("\(error)".utf8.count < 2000 + bytes.count, "a long message: \(error)")
        return
    }
    require((try? GestureTemplate(template.text)) == template, "read differently: \(template.text)")
    var finder = CandidateFinder(LearnedGestures([LearnedGestureSettings(template)]))
    let rest = [MotionFrame](repeating: .zero, count: 16)
    for frame in rest + template.gesture.examples[0] + rest {
        finder.add(SampledFrame(frame), limit: { _ in 1 }) { candidate in
            require(candidate.score.isFinite && candidate.start < candidate.end, "an impossible candidate")
        }
    }
}

/// The first byte chooses the file.
func decodeState(_ bytes: [UInt8]) {
    let state = StateDirectory(path: directory)
    let contents = Array(bytes.dropFirst())
    let choice = Int(bytes.first ?? 0) % (StateFile.allCases.count + 2)
    switch choice {
    case 0:
        _ = write(contents, to: "reference-attitude")
        if let attitude = ReferenceStore(stateDirectory: directory).load() {
            require(abs(attitude.normSquared - 1) < 1e-9, "not a rotation: \(attitude)")
        }
    case 1:
        let status = UpgradeStatus.read(wanted: "1.2.3", at: write(contents, to: "upgrade-status"))
        require(!status.text.isEmpty && !status.json.bytes.isEmpty, "an empty status")
    default:
        let file = StateFile.allCases[choice - 2]
        let path = write(contents, to: file.rawValue)
        let loaded = LoadedConfiguration(settings: JostleSettings(), provenance: Provenance())
        _ = StoredConfiguration.read(loaded, id: "washer-1", in: state)
        require(RememberedTopics.announced(in: state).topics.allSatisfy { !$0.contains("#") }, "an invalid topic")
        _ = RememberedTopics.deviceNames(in: state)
        if let time = EventTime(lastKnownIn: state) {
            require(EventTime.possibleWallTimes.contains(time.wall), "an impossible time")
        }
        unlink(path)
    }
}

/// The bytes of an outbox's file with some messages.
private let outboxFile: [UInt8] = {
    let file = OutboxFile(directory: directory, maximumBytes: 1 << 22)
    _ = file.open()
    var batch = OutboxBatch()
    let clocks = ClockReading.now()
    for number in 1...12 {
        var message = OutgoingMessage(
            topic: "jostle/washer-1/event/tap", content: .fixed([0x7B, 0x7D]), time: EventTime(clocks.monotonic, clocks)
        )
        if number % 2 == 0 {
            message.content = .event(id: "run-\(number)", fields: #""gesture":"tap","count":\#(number)"#)
        }
        if number % 3 == 0 { message.lifetime = Double(number) }
        batch.added.append((Int64(number), message))
    }
    batch.gestures = [(OpenGesture(gesture: .shake, isSimulated: false), true)]
    batch.totals = (3, 4)
    guard case .written = file.write(batch) else { fatalError("the outbox cannot be written") }
    file.close()
    guard let bytes = try? FileContents.bytes(of: "\(directory)/outbox.sqlite3", limit: 1 << 20) else {
        fatalError("the outbox cannot be read")
    }
    return bytes
}()

/// A file of the outbox with changed bytes: it is opened or set aside, and afterwards messages can be stored. Four bytes
/// are a change: its place, what is changed, and in how many bytes. With an odd length, the file is cut off.
func decodeOutbox(_ bytes: [UInt8]) {
    var contents = outboxFile
    for start in stride(from: 0, to: bytes.count - 3, by: 4) {
        let place = (Int(bytes[start]) | Int(bytes[start + 1]) << 8) % contents.count
        for index in place..<min(contents.count, place + 1 + Int(bytes[start + 3]) / 16) {
            contents[index] ^= bytes[start + 2]
        }
    }
    if bytes.count % 2 == 1 { contents.removeLast(contents.count * Int(bytes[0]) / 256) }
    for name in ["outbox.sqlite3", "outbox-damaged.sqlite3"] {
        for suffix in ["", "-wal", "-shm", "-journal"] { unlink("\(directory)/\(name)\(suffix)") }
    }
    _ = write(contents, to: "outbox.sqlite3")
    let file = OutboxFile(directory: directory, maximumBytes: 1 << 22)
    let opened = file.open()
    require(opened.failure == nil, opened.failure ?? "")
    let clocks = ClockReading.now()
    for (_, message) in opened.content.messages {
        let sent = message.message(at: clocks, eventExpiry: 3600)
        require(message.topic == sent.topic && sent.payload.count < 1 << 21, "an impossible message")
        _ = message.isExpired(at: clocks, maximumAge: 86_400)
    }
    var batch = OutboxBatch()
    let message = OutgoingMessage(topic: "t", content: .fixed([1]), time: EventTime(clocks.monotonic, clocks))
    batch.added = [(1 << 59, message)]
    batch.isComplete = true
    switch file.write(batch) {
    case .written: break
    // Damage that only a write notices.
    case .replaced, .opened: guard case .written = file.write(batch) else { fatalError("the file cannot be written") }
    case .failed(let reason): fatalError(reason)
    }
    file.close()
}
