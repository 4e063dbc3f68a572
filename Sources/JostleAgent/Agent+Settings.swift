internal import Glibc
public import JostleConfiguration
internal import LinuxSystem
internal import MosquittoClient
public import MotionKit

// From what the user set to what the parts take.
extension JostleSettings {
    /// Which sensor is meant.
    public var sensorSelection: SensorSelection {
        switch sensor.driver {
        case .automatic: .chip(bus: sensor.bus, address: sensor.address)
        case .family(let family): .chip(family: family, bus: sensor.bus, address: sensor.address)
        case .virtual: .virtual(sensor.trajectory)
        }
    }

    /// Seconds between two motion states: as often as the quickest of the topics wants, and ten times a second for the
    /// device's state at least.
    var updateInterval: Double {
        1 / max(10, publish.attitude.rate, publish.motion.rate)
    }

    /// The brokers, in the order in which they are tried; without any the one on this machine.
    func brokers(embeddedPort: UInt16?) -> [MosquittoClient.BrokerAddress] {
        switch mqtt.broker {
        case .embedded: [MosquittoClient.BrokerAddress(host: "127.0.0.1", port: embeddedPort)]
        case .remote(let addresses):
            addresses.map { MosquittoClient.BrokerAddress(host: $0.host, port: $0.port, usesTLS: $0.usesTLS) }
        case nil: [MosquittoClient.BrokerAddress(host: "localhost")]
        }
    }

    /// The options of the MQTT client, with the password out of its file.
    func mqttOptions(clientID: String, brokers: [MosquittoClient.BrokerAddress]) throws(AgentError) -> MQTTOptions {
        var options = MQTTOptions(brokers: brokers, clientID: "jostle-\(clientID)")
        // A house notices a quarter of a minute; a broker that comes back to a thousand devices takes them in a second.
        options.backoff.cap = .seconds(15)
        options.keepAlive = .milliseconds(Int64(mqtt.keepAlive * 1000))
        options.tls.caFile = mqtt.caFile
        options.tls.certificateFile = mqtt.certificateFile
        options.tls.keyFile = mqtt.keyFile
        if let userName = mqtt.username {
            let password = try mqtt.passwordFile.map(JostleSettings.password)
            options.credentials = MQTTCredentials(userName: userName, password: password)
        } else if let path = mqtt.passwordFile {
            // MQTT 3.1.1 has no password without a name, and being let in as nobody is not what was asked for.
            throw AgentError.passwordFile(path: path, reason: "a password needs a user: set mqtt.username")
        }
        return options
    }

    /// The first line of a password file that nobody but its owner and group can read.
    private static func password(in path: String) throws(AgentError) -> MQTTCredentials.Secret {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw AgentError.passwordFile(path: path, reason: systemMessage(errno))
        }
        guard status.st_mode & 0o007 == 0 else {
            throw AgentError.passwordFile(path: path, reason: "everybody may read it; chmod o= \(path)")
        }
        let text: String
        do throws(SystemFailure) {
            text = try FileContents.text(of: path, limit: 4096)
        } catch {
            throw AgentError.passwordFile(path: path, reason: "\(error)")
        }
        let line = text.prefix { $0 != "\n" && $0 != "\r\n" && $0 != "\r" }
        guard !line.isEmpty else { throw AgentError.passwordFile(path: path, reason: "its first line is empty") }
        return MQTTCredentials.Secret(String(line))
    }
}
