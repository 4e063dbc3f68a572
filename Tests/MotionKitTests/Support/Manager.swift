import BrokerTestSupport
import MotionCore
import StateStorage

@testable import MotionKit

extension Rig {
    /// A manager that lives until the end of the test, and then stops.
    func manager(
        sensor: SensorSelection = .automatic, settings: MotionSettings = MotionSettings(),
        updateInterval: Double = 0.1, stateDirectory: String? = nil, writer: StateWriter? = nil
    ) -> MotionManager {
        let manager = MotionManager(
            sensor: sensor, settings: settings, updateInterval: updateInterval, stateDirectory: stateDirectory,
            writer: writer)
        atEnd { manager.stop() }
        return manager
    }
}

extension MotionManager {
    /// Starts with a scripted sensor that delivers samples.
    @discardableResult
    func start(feeding samples: [MotionSample]) throws -> ScriptedDevice {
        let device = ScriptedDevice([.samples(samples)])
        try start(with: device)
        return device
    }

    /// The gestures that reach the default responder from now on.
    func gestureJournal() -> Journal<GestureEvent> {
        let journal = Journal<GestureEvent>()
        setDefaultResponder { journal.append($0) }
        return journal
    }

    /// The samples from now on.
    func sampleJournal() -> Journal<MotionSample> {
        let journal = Journal<MotionSample>()
        addSampleHandler { journal.append(contentsOf: $0) }
        return journal
    }

    /// The states from now on, in the usual interval.
    func stateJournal() -> Journal<MotionState> {
        let journal = Journal<MotionState>()
        addMotionHandler { journal.append($0) }
        return journal
    }

    /// The sensor's events from now on.
    func sensorJournal() -> Journal<SensorEvent> {
        let journal = Journal<SensorEvent>()
        addSensorHandler { event, _ in journal.append(event) }
        return journal
    }

    /// Adds a recognizer whose handler appends something of each event to a journal.
    @discardableResult
    func addRecognizer<Entry>(
        _ recognizer: Recognizer, into journal: Journal<Entry>, _ response: GestureResponse = .passOn,
        _ entry: @escaping @Sendable (GestureEvent) -> Entry
    ) -> RecognizerToken {
        addRecognizer(recognizer) { event in
            journal.append(entry(event))
            return response
        }
    }
}
