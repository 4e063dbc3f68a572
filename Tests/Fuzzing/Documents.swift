// Everything that a device decodes from messages: layers, registries, commands, values.
@testable import Documents
@testable import JostleAgent
@testable import JostleConfiguration
@testable import JostleMessages

/// A stack to which every layer is applied.
private let stack: ConfigurationStack = {
    let loaded = LoadedConfiguration(settings: JostleSettings(), provenance: Provenance())
    return ConfigurationStack(loaded, layers: [ConfigurationLayer("local")])
}()

/// The first byte chooses the decoder, the rest is the message.
func decodeDocument(_ bytes: [UInt8]) {
    let message = Array(bytes.dropFirst())
    switch (bytes.first ?? 0) % 4 {
    case 0: decodeLayer(message)
    case 1: decodeRegistry(message)
    case 2: decodeCommand(message)
    default: decodeValue(message)
    }
}

/// A valid layer has the same hash after it was stored and read again, and its configuration is applied or changes
/// nothing.
private func decodeLayer(_ bytes: [UInt8]) {
    guard let document = try? LayerDocument(reading: bytes, layer: "all") else {
        _ = DocumentEnvelope.revision(in: bytes)
        return
    }
    var layer = StoredLayer(.all)
    layer.accept(LayerContent(document: document), at: .now(isSet: false))
    let stored = StoredFleet(layers: ["jostle/_all/config": layer])
    guard let again = try? StoredFleet(reading: stored.bytes) else { fatalError("a stored layer cannot be read") }
    precondition(again == stored, "a stored layer is read differently")
    var changed = stack
    changed.setPatches([PatchLayer("all", document.patches(for: "washer-1"))])
    let outcome = changed.resolution.outcomes[0]
    precondition(outcome.chosen != nil || changed.resolution.settings == stack.resolution.settings)
    precondition(outcome.chosen != nil || outcome.problems.allSatisfy { !$0.isEmpty })
    _ = changed.values.compactText
}

private func decodeRegistry(_ bytes: [UInt8]) {
    guard let document = try? RegistryDocument(reading: bytes) else { return }
    precondition(document.groups.allSatisfy { JostleSettings.Device.isID($0) })
}

private func decodeCommand(_ bytes: [UInt8]) {
    for command in JostleSettings.Command.allCases {
        _ = try? RemoteCommands.read(command.rawValue, bytes, allowed: JostleSettings.Command.allCases)
    }
}

/// A refused value changes nothing.
private func decodeValue(_ bytes: [UInt8]) {
    guard let end = bytes.firstIndex(of: 0x20) else { return }
    let key = String(decoding: bytes[..<end], as: UTF8.self)
    guard let value = try? JSONValue(message: Array(bytes[(end + 1)...]), topic: "set") else { return }
    var changed = stack
    if (try? changed.set(key, to: value, in: "local")) == nil { precondition(changed == stack) }
}
