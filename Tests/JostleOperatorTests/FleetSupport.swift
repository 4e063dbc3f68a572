import Documents
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleOperator

/// The state of a fleet after messages on topics below `jostle/`.
func fleet(_ messages: KeyValuePairs<String, String>) -> FleetModel {
    var model = FleetModel(topics: FleetTopics(prefix: "jostle"))
    for (topic, text) in messages {
        let message = MQTTMessage(topic: "jostle/\(topic)", text: text, retain: true)
        model.update(with: message, at: Timestamp(nanoseconds: 0))
    }
    return model
}

/// A layer's document.
func layer(_ revision: Int64, _ config: String, more: String = "") -> String {
    #"{"schema":1,"revision":\#(revision),"config":\#(config)\#(more)}"#
}

/// A report with these layers.
func report(groups: [String] = [], _ layers: String, more: String = "") -> String {
    let groups = groups.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"run":"1","groups":[\#(groups)],"layers":{\#(layers)}\#(more)}"#
}

/// A value from YAML.
func value(_ yaml: String) throws -> JSONValue {
    try YAMLReader.read(Array(yaml.utf8), source: .file("test.yaml"))
}

/// The revision of a document in a model.
func revision(_ id: FleetDocumentID, _ model: FleetModel) throws -> DocumentRevision {
    try #require(model.documents[id]?.revision)
}
