import BrokerTestSupport
import Foundation
package import HTTPServer
import LinuxSystem
import Synchronization

/// A server on a free port and a thread of its own. End it with `stop`.
package final class ServerRig: Sendable {
    package let port: UInt16
    private let tasks: Tasks

    /// What the server's thread still has to do.
    private final class Tasks: Sendable {
        let waiting = Mutex<[@Sendable () -> Void]>([])
        let isStopping = Flag()
        let hasStopped = Flag()
        let wake: WakeSignal

        init(_ wake: WakeSignal) { self.wake = wake }
    }

    package enum RigError: Error { case noDescriptor, noServer }

    package init(
        _ limits: HTTPLimits = HTTPLimits(), certificate: HTTPServer.Certificate? = nil,
        handler: @escaping @Sendable (HTTPRequest) -> HTTPReply
    ) throws {
        guard let wake = WakeSignal() else { throw RigError.noDescriptor }
        let tasks = Tasks(wake)
        self.tasks = tasks
        let found = Found()
        let hasTried = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            do {
                let socket = try ListeningSocket(ListeningAddress(host: "127.0.0.1", port: 0))
                let server = try HTTPServer(socket, certificate: certificate, limits: limits, handler: handler)
                found.port.withLock { $0 = server.address.port }
                hasTried.signal()
                ServerRig.serve(server, tasks)
            } catch {
                hasTried.signal()
            }
            tasks.hasStopped.set()
        }
        hasTried.wait()
        guard let number = found.port.withLock({ $0 }) else { throw RigError.noServer }
        self.port = number
    }

    private final class Found: Sendable {
        let port = Mutex<UInt16?>(nil)
    }

    private static func serve(_ server: HTTPServer, _ tasks: Tasks) {
        while !tasks.isStopping.isSet {
            var descriptors = [
                pollfd(fd: server.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: tasks.wake.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            poll(&descriptors, 2, Int32(((server.timeout ?? 60) * 1000).rounded(.up)))
            tasks.wake.clear()
            let due = tasks.waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for task in due { task() }
            server.run()
        }
        server.stop()
    }

    /// Does something on the server's thread, between two rounds of it.
    package func perform(_ task: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        tasks.waiting.withLock {
            $0.append {
                task()
                isDone.signal()
            }
        }
        tasks.wake.signal()
        isDone.wait()
    }

    /// Ends the server and waits for the end of its thread.
    package func stop() {
        tasks.isStopping.set()
        tasks.wake.signal()
        _ = eventuallyBlocking { tasks.hasStopped.isSet }
    }

    package func connect(receiveBuffer: Int32? = nil) throws -> RawHTTP.Connection {
        try RawHTTP.Connection(port, receiveBuffer: receiveBuffer)
    }
}
