internal import JostleMessages
internal import MosquittoClient

extension MQTTClient {
    /// Subscribes. Filters are made of settings that were checked; one that is refused all the same is told and left out.
    func subscribe(to filter: String, orTell log: Log) {
        do throws(MQTTError) {
            try subscribe(to: filter, qos: .atLeastOnce)
        } catch {
            log.warning("no subscription to \(filter): \(error)")
        }
    }
}
