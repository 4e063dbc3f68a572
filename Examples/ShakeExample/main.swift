import Glibc
import MotionKit

let sensor: SensorSelection = CommandLine.arguments.contains("--virtual") ? .virtual("demo") : .automatic
let manager = MotionManager(sensor: sensor, updateInterval: 1)
manager.settings.reference = .start

manager.addRecognizer(.shake) { shake in
    switch shake.phase {
    case .began: print("It is being shaken.")
    case .ended: print("It was shaken, \(shake.reversals ?? 0) times to and fro.")
    case .cancelled: print("It was not a shake after all.")
    default: break
    }
    return .consume
}
manager.addMotionHandler { motion in
    print("It is turned by \(Int(motion.relativeAttitude.angle(to: .identity) * 180 / .pi))° from where it was.")
}

// Until Ctrl-C.
var interrupt = sigset_t()
sigaddset(&interrupt, SIGINT)
sigprocmask(SIG_BLOCK, &interrupt, nil)
do {
    try manager.start()
} catch {
    // The description says what to do about it.
    print("The sensor cannot be read: \(error)")
    exit(1)
}
sigwaitinfo(&interrupt, nil)
manager.stop()
