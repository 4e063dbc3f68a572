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

    /// Whose document it is, and how boards belong to it.
    enum Place: CaseIterable {
        case all
        /// A group of which only the liars say that they are in it.
        case emptyGroup
        /// A group into which the registry puts one honest board.
        case registeredGroup
        /// A group of which all boards say that they are in it, because it is in their files.
        case claimedGroup

        var document: FleetDocumentID { self == .all ? .all : .group("g") }
    }

    private let signer: DocumentSigner
    private let trust: DocumentTrust

    init() throws {
        signer = try #require(DocumentSigner(generating: "ops-1"))
        let key = try #require(signer.trustedKey)
        trust = try #require(DocumentTrust([key], topics: Self.topics))
    }

    private func document(_ state: State, _ id: FleetDocumentID = .all, isSigned: Bool) throws -> [UInt8] {
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
            draft, of: id, revision: number, epoch: epoch, author: DocumentAuthor(at: 1_795_182_603_123),
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
    private func published(_ model: FleetModel, _ id: FleetDocumentID = .all) throws -> String {
        let plan = RevisionPlan(for: id, in: model)
        let stored = model.documents[id]
        let isRefused = stored?.problem != nil || plan.lost != nil || plan.seenNewer != nil
        guard !isRefused else { return "refused" }
        var texts: [String] = []
        for setting in ["sensor.rate=50 Hz", "sensor.rate=100 Hz"] {
            let edit = LayerEdit([try LayerEdit.set(setting)])
            let draft = try edit.draft(changing: stored?.layer, repeats: plan.repetition != nil)
            let epoch = plan.beginsEpoch ? "new" : plan.base?.epoch ?? ""
            texts.append("\(draft.map { "\($0.content)" } ?? "nothing") \(plan.next) \(epoch)")
        }
        return texts.joined(separator: "\n")
    }

    private func model(
        _ bytes: [UInt8], _ state: State, _ place: Place = .all, isSigned: Bool, lies: [String] = [], _ honest: [String]
    ) throws -> FleetModel {
        let id = place.document
        var model = FleetModel(topics: Self.topics)
        if isSigned { model.trust = trust }
        func take(_ topic: String, _ payload: [UInt8]) {
            model.update(
                with: MQTTMessage(topic: topic, payload: payload, qos: .atLeastOnce, retain: true),
                at: Timestamp(nanoseconds: 0))
        }
        if !bytes.isEmpty { take(id.topic(Self.topics), bytes) }
        if state == .older {
            model.seen[id] = DocumentRevision(number: 9, hash: "", epoch: "0123abcd", at: 1_795_182_603_124)
        }
        for (index, layer) in (lies + honest).enumerated() {
            let isMember = place == .claimedGroup || index < lies.count || place == .registeredGroup && index == 99
            let groups = place != .all && isMember ? ["g"] : []
            let layers = place != .all && !isMember ? "" : "\"\(id.text)\":\(layer)"
            take("jostle/board-\(index)/availability", Array("online".utf8))
            take("jostle/board-\(index)/config/reported", Array(report(groups: groups, layers).utf8))
        }
        if place == .registeredGroup {
            let registry = try FleetPublication(
                DocumentDraft(groups: ["g"]), of: .registry("board-99"), revision: 1, topics: Self.topics,
                signer: isSigned ? signer : nil)
            take(Self.topics.registry("board-99"), registry.bytes)
        }
        return model
    }

    @Test(
        "Lies change nothing", arguments: Place.allCases,
        [(1, false), (1, true), (10, false), (10, true), (49, false), (49, true)])
    func fewerThanHalf(place: Place, liars: (percent: Int, isSigned: Bool)) throws {
        let (percent, isSigned) = liars
        let id = place.document
        var random = RandomNumbers(state: UInt64(percent))
        for state in State.allCases {
            let bytes = try document(state, id, isSigned: isSigned)
            let honest = honest(bytes)
            func text(_ lies: [String]) throws -> String {
                let rest = Array(repeating: honest, count: 100 - lies.count)
                return try published(model(bytes, state, place, isSigned: isSigned, lies: lies, rest), id)
            }
            let truth = try text([])
            for round in 0..<(place == .all ? 20 : 6) {
                // All liars say the same, or each something else.
                let common = lie(&random)
                let lies = (0..<percent).map { _ in round % 2 == 0 ? common : lie(&random) }
                #expect(try text(lies) == truth, "\(state): \(lies.first ?? "")")
            }
        }
    }

    /// The claim that locked a fleet: most boards have no document yet, and one claims the last number.
    @Test(arguments: [Int64(1 << 53 - 2), 501]) func oneLiarAmongBoardsWithoutADocument(claim: Int64) throws {
        let reports = ["{\"status\":\"applied\",\"revision\":\(claim)}", #"{"status":"none"}"#, #"{"status":"none"}"#]
        let plan = RevisionPlan(for: .all, in: try model([], .nothing, isSigned: false, reports))
        #expect(plan.next == 1 && !plan.beginsEpoch && plan.lost == nil)
        #expect(plan.ahead == [.init(id: "board-0", revision: DocumentRevision(number: claim, hash: ""))])
        // Where most claim it, numbers begin again instead of following the claim.
        let most = RevisionPlan(
            for: .all, in: try model([], .nothing, isSigned: false, [reports[0], reports[0], reports[1]]))
        #expect(most.next == 1 && most.beginsEpoch && most.lost?.number == claim)
    }

    /// A store that was lost is found in a fleet whose groups are only in the files of boards: if most boards miss something,
    /// or if this machine keeps what the boards of the group claim.
    @Test func lostStoreWithoutARegistry() {
        let hash = "0123456789abcdef"
        func plan(
            everybody: String, in layer: String = "device", hash: String = hash, kept: Set<DocumentRevision> = [],
            seen: DocumentRevision? = nil
        ) -> RevisionPlan {
            let claim = "\"group:g\":{\"status\":\"missing\",\"revision\":4,\"hash\":\"\(hash)\"}"
            let lack = "\"\(layer)\":{\(everybody)}"
            var model = fleet([
                "a/availability": "online", "a/config/reported": report(groups: ["g"], "\(claim),\(lack)"),
                "b/config/reported": report(lack), "b/availability": "online",
                "c/config/reported": report(lack), "c/availability": "online",
            ])
            model.kept[.group("g")] = kept
            model.seen[.group("g")] = seen
            return RevisionPlan(for: .group("g"), in: model)
        }
        let alone = plan(everybody: #""status":"none""#)
        #expect(alone.lost == nil && !alone.beginsEpoch && alone.ahead.map(\.id) == ["a"])
        let all = plan(everybody: #""status":"missing","revision":3"#)
        #expect(all.lost?.number == 4 && all.beginsEpoch)
        // The layer of all boards can have been removed.
        #expect(plan(everybody: #""status":"missing","revision":3"#, in: "all").lost == nil)
        let document = DocumentRevision(number: 4, hash: hash)
        let kept = plan(everybody: #""status":"none""#, kept: [document])
        #expect(kept.lost == document && kept.kept == document && kept.next == 5)
        let other = DocumentRevision(number: 4, hash: "ffffffffffffffff")
        #expect(plan(everybody: #""status":"none""#, kept: [other]).lost == nil)
        // Without a hash, or where this machine has seen a later one, whoever claims it would choose what is published again.
        #expect(plan(everybody: #""status":"none""#, hash: "", kept: [document]).lost == nil)
        let later = DocumentRevision(number: 12, hash: "aaaaaaaaaaaaaaaa")
        #expect(plan(everybody: #""status":"none""#, kept: [document], seen: later).lost == nil)
    }

    /// What boards claim of another epoch decides nothing. If it is true, they keep what they have: a document that was not
    /// made from theirs is not later than it.
    @Test(arguments: [nil, #","at":1000"#])
    func boardsOfAnotherEpochKeepTheirs(held: String?) throws {
        let claim =
            #""group:g":{"status":"\#(held == nil ? "missing" : "stale")","revision":1,"accepted_epoch":"0123abcd","#
        var model = fleet([
            "a/availability": "online", "b/availability": "online", "c/availability": "online",
            "b/config/reported": report(""), "c/config/reported": report(""),
            "a/config/reported": report(
                groups: ["g"], claim + (held == nil ? #""epoch":"0123abcd"}"# : #""highest":4,"accepted_at":9000}"#)),
        ])
        if let held {
            let message = MQTTMessage(topic: "jostle/_group/g/config", text: layer(1, "{}", more: held), retain: true)
            model.update(with: message, at: Timestamp(nanoseconds: 0))
        }
        let plan = RevisionPlan(for: .group("g"), in: model)
        #expect(plan.lost == nil && !plan.beginsEpoch && plan.unreached.map(\.id) == ["a"])
        #expect(plan.time(now: 100_000) == (held == nil ? nil : 1001))
        #expect(RevisionPlan(for: .group("g"), in: model, newEpoch: true).time(now: 100_000) == 100_000)
    }

    /// Where nobody who is in the group by the registry is online, the others are asked.
    @Test func memberThatIsOfflineSilencesNobody() {
        let hash = "0123456789abcdef"
        var model = fleet([
            "a/availability": "online",
            "a/config/reported": report(
                groups: ["g"], "\"group:g\":{\"status\":\"missing\",\"revision\":4,\"hash\":\"\(hash)\"}"),
            "b/availability": "offline", "_registry/b": #"{"schema":1,"revision":1,"groups":["g"]}"#,
        ])
        model.kept[.group("g")] = [DocumentRevision(number: 4, hash: hash)]
        #expect(RevisionPlan(for: .group("g"), in: model).lost?.number == 4)
    }

    /// A time that honest boards accept although their clocks are an hour behind.
    @Test func timeOfAnEpochLeavesRoomForSlowClocks() {
        let day = DocumentRevision.clockTolerance
        for (claim, time) in [(5000 as Int64, 10_000 as Int64), (20_000, 20_001), (10_000 + day - 1500, 10_000)] {
            let model = fleet([
                "a/availability": "online",
                "a/config/reported": report("\"all\":{\"status\":\"none\",\"accepted_at\":\(claim)}"),
            ])
            #expect(RevisionPlan(for: .all, in: model, newEpoch: true).time(now: 10_000) == time)
        }
    }

    /// The store was lost with its registry: this machine keeps who is in the group.
    @Test func registryIsKept() {
        var model = fleet([
            "liar/availability": "online", "a/availability": "online",
            "liar/config/reported": report(groups: ["g"], #""group:g":{"status":"applied","revision":500}"#),
            "a/config/reported": report(groups: ["g"], #""group:g":{"status":"missing","revision":4}"#),
        ])
        #expect(RevisionPlan(for: .group("g"), in: model).lost?.number == 500)
        model.keptGroups["a"] = ["g"]
        #expect(RevisionPlan(for: .group("g"), in: model).lost?.number == 4)
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
