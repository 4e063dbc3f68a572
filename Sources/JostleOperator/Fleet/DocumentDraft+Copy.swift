internal import JostleConfiguration
package import JostleMessages

extension DocumentDraft {
    /// A draft with the content of an earlier document, its candidate included.
    package init(copying layer: LayerDocument, by: String?, at: Int64?, note: String?) {
        self.init(
            config: JSONValue(layer.config), candidate: layer.candidate?.json,
            ignoresUnknownKeys: layer.ignoresUnknownKeys, by: by, at: at, note: note)
    }
}
