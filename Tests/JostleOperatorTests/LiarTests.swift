import Documents
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleOperator

/// Requirement: fewer than half of the boards cannot change what `jostle fleet set` publishes, whatever they report.
@Suite struct LiarTests {
    private static let topics = FleetTopics(prefix: "jostle")

    /// What the broker holds.
    enum State: CaseIterable {
        case nothing, document, epoch, lastNumber, unreadable, older
    }

    private let signer: DocumentSigner
    private let trust: DocumentTrust

    init() throws {
        signer = try #require(DocumentSigner(generating: "ops-1"))
        let key = try #require(signer.trustedKey)
        trust = try #require(DocumentTrust([key], topics: Self.topics))
    }

    private func document(_ state: State, isSigned: Bool) throws -> [UInt8] {
        let draft = DocumentDraft(config: try value("sensor: { rate: 50 Hz }"))
        let number: Int64
        var epoch = ""
        switch state {
        case .nothing: return []
        case .unreadable: return Array(#"{"schema":1,"revision":7,"x":1}"#.utf8)
        case .document: number = 7
        case .epoch, .older: (number, epoch) = (7, "0123abcd")
        case .lastNumber: number = DocumentRevision.maximum
        }
        return try FleetPublication(
            draft, of: .all, revision: number, epoch: epoch, author: DocumentAuthor(at: 1_795_182_603_123),
            topics: Self.topics, signer: isSigned ? signer : nil
        ).bytes
    }

    /// This machine's clock was days ahead when it published.
    @Test func aDocumentFromTheFutureIsNoBase() {
        var model = FleetModel(topics: Self.topics)
        model.seen[.all] = DocumentRevision(number: 5, hash: "", epoch: "0123abcd", at: 2000)
        #expect(RevisionPlan(for: .all, in: model).next == 6)
        model.latestPublication = 1000
        #expect(RevisionPlan(for: .all, in: model).next == 1)
    }

    /// What honest boards report.
    private func honest(_ document: [UInt8]) -> String {
        guard let revision = StoredDocument(.all, document).revision else { return #"{"status":"none"}"# }
        let epoch = revision.epoch.isEmpty ? "" : ",\"epoch\":\"\(revision.epoch)\""
        return
            "{\"status\":\"applied\",\"revision\":\(revision.number),\"hash\":\"\(revision.shortHash)\"\(epoch)}"
    }

    /// Something that a liar reports.
    private func lie(_ random: inout RandomNumbers) -> String {
        func pick<T>(_ all: [T]) -> T { all[Int(random.next() % UInt64(all.count))] }
        var members = ["\"status\":\"\(pick(LayerStatus.words + ["x"]))\""]
        for name in ["revision", "in_force", "highest"] where random.next() % 3 > 0 {
            members.append("\"\(name)\":\(pick([0, 1, 6, 7, 8, 500, 1 << 31, 1 << 53 - 1, 1 << 53] as [Int64]))")
        }
        for name in ["epoch", "accepted_epoch"] where random.next() % 2 > 0 {
            members.append("\"\(name)\":\"\(pick(["", "0123abcd", "ffff0000"]))\"")
        }
        if random.next() % 2 > 0 { members.append("\"hash\":\"0000000000000000\"") }
        if random.next() % 2 > 0 { members.append("\"candidate\":true") }
        return "{\(members.joined(separator: ","))}"
    }

    /// What `set` publishes, or that it refuses.
    private func published(_ model: FleetModel) throws -> String {
        let plan = RevisionPlan(for: .all, in: model)
        let stored = model.documents[.all]
        let isRefused = stored?.problem != nil || plan.isLost || plan.seenNewer != nil
        guard !isRefused else { return "refused" }
        var texts: [String] = []
        for setting in ["sensor.rate=50 Hz", "sensor.rate=100 Hz"] {
            let edit = LayerEdit([try LayerEdit.set(setting)])
            let draft = try edit.draft(changing: stored?.layer, repeats: plan.mustRepeat)
            let epoch = plan.beginsEpoch ? "new" : plan.base?.epoch ?? ""
            texts.append("\(draft.map { "\($0.content)" } ?? "nothing") \(plan.next) \(epoch)")
        }
        return texts.joined(separator: "\n")
    }

    private func model(_ bytes: [UInt8], _ state: State, isSigned: Bool, _ reports: [String]) -> FleetModel {
        var model = FleetModel(topics: Self.topics)
        if isSigned { model.trust = trust }
        func take(_ topic: String, _ payload: [UInt8]) {
            model.update(
                with: MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, retain: true),
                at: Timestamp(nanoseconds: 0))
        }
        if !bytes.isEmpty { take(Self.topics.all, bytes) }
        if state == .older {
            model.seen[.all] = DocumentRevision(number: 9, hash: "", epoch: "0123abcd", at: 1_795_182_603_124)
        }
        for (index, layer) in reports.enumerated() {
            take("jostle/board-\(index)/availability", Array("online".utf8))
            take("jostle/board-\(index)/config/reported", Array(report("\"all\":\(layer)").utf8))
        }
        return model
    }

    @Test("Lies change nothing", arguments: [1, 10, 49], [false, true])
    func fewerThanHalf(percent: Int, isSigned: Bool) throws {
        var random = RandomNumbers(state: UInt64(percent))
        for state in State.allCases {
            let bytes = try document(state, isSigned: isSigned)
            let honest = honest(bytes)
            let truth = try published(model(bytes, state, isSigned: isSigned, Array(repeating: honest, count: 100)))
            for round in 0..<20 {
                // All liars say the same, or each something else.
                let common = lie(&random)
                let lies = (0..<percent).map { _ in round % 2 == 0 ? common : lie(&random) }
                let all = lies + Array(repeating: honest, count: 100 - percent)
                let found = try published(model(bytes, state, isSigned: isSigned, all))
                #expect(found == truth, "\(state): \(lies.first ?? "")")
            }
        }
    }

    /// The claim that locked a fleet: most boards have no document yet, and one claims the last number.
    @Test(arguments: [Int64(1 << 53 - 2), 501]) func oneLiarAmongBoardsWithoutADocument(claim: Int64) throws {
        let reports = ["{\"status\":\"applied\",\"revision\":\(claim)}", #"{"status":"none"}"#, #"{"status":"none"}"#]
        let plan = RevisionPlan(for: .all, in: model([], .nothing, isSigned: false, reports))
        #expect(plan.next == 1 && !plan.beginsEpoch && !plan.isLost)
        #expect(plan.ahead == [.init(id: "board-0", number: claim)])
        // Where most claim it, numbers begin again instead of following the claim.
        let most = RevisionPlan(
            for: .all, in: model([], .nothing, isSigned: false, [reports[0], reports[0], reports[1]]))
        #expect(most.next == 1 && most.beginsEpoch && most.isLost && most.lostNumber == claim)
    }

    /// Numbers that are the same in each run of the test.
    private struct RandomNumbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
    }
}
