import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleOperator

/// Requirement: the model holds what the broker holds of a fleet, and garbage from anyone is counted and left out.
@Suite struct FleetModelTests {
    @Test func readsDocumentsAndReports() throws {
        let model = fleet([
            "_all/config": layer(3, "{}"), "_group/laundry/config": layer(2, #"{"sensor":{"rate":"50 Hz"}}"#),
            "door/config/desired": layer(1, "{}"),
            "_registry/washer-1": #"{"schema":1,"revision":4,"groups":["laundry","floor-2"]}"#,
            "washer-1/availability": "online",
            "washer-1/config/reported": report(
                groups: ["laundry"],
                #""group:laundry":{"status":"rejected","revision":2,"in_force":1,"errors":[{"path":"sensor.rate","value":50,"allowed":"4 Hz","reason":"no"}],"unknown_keys":["a.b"]},"all":{"status":"applied","revision":3,"hash":"0f3a","candidate":true,"t":5,"took_ms":41}"#
            ),
        ])
        #expect(model.documents.count == 4 && model.skippedMessages == 0)
        #expect(model.allBoards.map(\.id) == ["door", "washer-1"])
        #expect(model.groups(of: "washer-1") == ["laundry", "floor-2"])
        #expect(model.groups == ["floor-2", "laundry"])
        let board = try #require(model.boards["washer-1"])
        #expect(board.isOnline == true)
        let statuses = board.statuses
        #expect(statuses.map(\.document) == [.all, .group("laundry")])
        #expect(statuses[0].layer.isCandidate)
        #expect(statuses[1].layer.inForce == 1 && statuses[1].layer.unknownKeys == ["a.b"])
        #expect(statuses[1].layer.errors.map(\.text) == ["sensor.rate: \"50\" no; allowed: 4 Hz"])
        #expect(board.problems == ["group:laundry rejected"])
        #expect(
            model.documents(of: "washer-1").map(\.text) == [
                "all", "group:laundry", "group:floor-2", "device:washer-1", "registry:washer-1",
            ])
    }

    @Test func readsWhatBecameOfCandidate() throws {
        let model = fleet([
            "a/config/reported": report(
                #""all":{"status":"applied","revision":3,"candidate":false,"probation":true,"#
                    + #""candidate_errors":[{"path":"a.b","value":"9","reason":"is wrong"}]}"#,
                more: #","refused":[{"key":"c.d","value":"8","reason":"is bad","allowed":"1"}]"#)
        ])
        let board = try #require(model.boards["a"])
        let layer = try #require(board.status(of: .all))
        #expect(layer.isOnProbation && !layer.isCandidate && layer.errors.isEmpty)
        #expect(layer.candidateErrors.map(\.text) == ["a.b: \"9\" is wrong"])
        #expect(board.report?.refusedValues().map(\.text) == ["c.d: \"8\" is bad; allowed: 1"])
    }

    /// The broker holds revision 7.
    @Test(
        arguments: [
            (#""status":"none""#, .waiting), (#""status":"pending","revision":7"#, .waiting),
            (#""status":"applied","revision":7,"hash":"0f3a""#, .applied),
            (#""status":"applied","revision":7,"hash":"ffff""#, .conflict),
            (#""status":"applied","revision":6"#, .waiting), (#""status":"applied","revision":8"#, .newer),
            (#""status":"missing","revision":7"#, .missing), (#""status":"missing","revision":6"#, .waiting),
            (#""status":"stale","revision":6,"in_force":7"#, .applied),
            (#""status":"stale","revision":7,"in_force":8"#, .newer),
            (#""status":"rejected","revision":7"#, .refused), (#""status":"rejected","revision":6"#, .waiting),
            (#""status":"rolled_back","revision":7"#, .refused), (#""status":"conflict","revision":7"#, .conflict),
            (#""status":"new","revision":7"#, .unknown), (#""revision":7"#, .unknown),
        ] as [(String, BoardReport.Layer.Standing)])
    func statusMeans(text: String, standing: BoardReport.Layer.Standing) throws {
        let model = fleet(["a/config/reported": report("\"all\":{\(text)}")])
        let layer = try #require(model.boards["a"]?.status(of: .all))
        #expect(layer.standing(on: DocumentRevision(number: 7, hash: "0f3a")) == standing)
    }

    @Test func emptyMessageRemovesDocument() {
        let model = fleet(["_all/config": layer(3, "{}"), "_all/config": ""])
        #expect(model.documents.isEmpty)
    }

    @Test func garbageIsCountedAndBounded() throws {
        let long = String(repeating: "y", count: 1000)
        let strangeLayers =
            #""group:a/b":{"status":"applied"},"all":{"status":7},"device":1,"#
            + #""group:x":{"status":"\#(long)","revision":-1,"in_force":1e99}"#
        let model = fleet([
            "_all/config": "{\u{1B}[2J", "a b/availability": "online", "door/availability": "maybe",
            "door/config/reported": "[1]", "door/health": "{", "_group/a/b/config": "x",
            "washer/config/reported": #"{"layers":{\#(strangeLayers)},"groups":["a/b","ok"]}"#,
        ])
        #expect(model.skippedMessages == 4)
        #expect(model.firstSkipped.count == 4)
        let all = try #require(model.documents[.all])
        #expect(all.revision == nil && all.problem != nil)
        let washer = try #require(model.boards["washer"]?.report)
        #expect(washer.groups == ["ok"])
        let layers = try #require(washer.layers)
        #expect(layers.compactMap(\.layer?.text).sorted() == ["all", "group:x"])
        let strange = try #require(washer.layer(.group("x")))
        #expect(strange.status.word.count <= 201 && strange.revision == nil && strange.inForce == nil)
        #expect(model.skippedMessages >= 2)
    }

    @Test func memoryIsBounded() {
        var model = FleetModel(topics: FleetTopics(prefix: "jostle"))
        for number in 0..<(FleetModel.maximum.boards + 5) {
            let message = MQTTMessage(topic: "jostle/b\(number)/availability", text: "online", retain: true)
            model.update(with: message, at: Timestamp(nanoseconds: 0))
        }
        #expect(model.boards.count == FleetModel.maximum.boards)
        #expect(model.skippedMessages == 5 && model.leftOut == (boards: 5, documents: 0))
        let long = String(repeating: " ", count: 65_537)
        model.update(
            with: MQTTMessage(topic: "jostle/_all/config", text: long, retain: true), at: Timestamp(nanoseconds: 0))
        #expect(model.documents.isEmpty && model.skippedMessages == 6)
    }

    /// A flood of invented ids leaves every place to the boards of which more is known, whenever that becomes known.
    @Test func knownBoardsKeepTheirPlaces() {
        let limit = FleetModel.maximum.boards
        var model = FleetModel(topics: FleetTopics(prefix: "jostle"))
        func take(_ topic: String, _ text: String = "online") {
            let message = MQTTMessage(topic: "jostle/\(topic)", text: text, retain: true)
            model.update(with: message, at: Timestamp(nanoseconds: 0))
        }
        model.remember(KnownDevices(known: ["enrolled"], seen: ["seen"]))
        for number in 0..<limit { take("invented-\(number)/availability") }
        #expect(model.leftOutText == nil)
        take("seen/availability")
        take("enrolled/availability")
        take("layered/config/desired", layer(1, "{}"))
        take("_registry/grouped", #"{"schema":1,"revision":1,"groups":["g"]}"#)
        for id in ["layered", "grouped", "stranger"] { take("\(id)/availability") }
        #expect(model.boards.count == limit)
        #expect(["seen", "enrolled", "layered", "grouped"].allSatisfy { model.boards[$0]?.isOnline == true })
        #expect(model.boards["stranger"] == nil && model.takeRemoved().count == 4)
        #expect(model.leftOutText == "5 devices do not fit beside 10000 others")
        #expect(model.knownDevices == ["enrolled", "layered", "grouped"])
        // A board that only was there earlier gives way to one that an operator named.
        model = FleetModel(topics: FleetTopics(prefix: "jostle"))
        model.remember(KnownDevices(known: ["enrolled"], seen: Set((0..<limit).map { "seen-\($0)" })))
        for number in 0..<limit { take("seen-\(number)/availability") }
        for id in ["stranger", "enrolled"] { take("\(id)/availability") }
        #expect(model.boards["enrolled"] != nil && model.boards["stranger"] == nil)
        #expect(model.leftOut == (boards: 2, documents: 0))
    }

    /// Documents and reports of invented boards leave the memory to those of known ones.
    @Test func knownBoardsKeepTheirDocumentsAndReports() {
        var model = FleetModel(topics: FleetTopics(prefix: "jostle"))
        func take(_ topic: String, _ text: String) {
            let message = MQTTMessage(topic: "jostle/\(topic)", text: text, retain: true)
            model.update(with: message, at: Timestamp(nanoseconds: 0))
        }
        model.remember(KnownDevices(known: ["known"]))
        for number in 0..<FleetModel.maximum.documents { take("_registry/invented-\(number)", "{") }
        take("known/config/desired", layer(1, "{}"))
        take("_all/config", layer(1, "{}"))
        take("_registry/late", "{")
        #expect(model.documents[.device("known")] != nil && model.documents[.all] != nil)
        #expect(model.documents[.registry("late")] == nil)
        #expect(model.leftOutText == "3 documents do not fit beside 20000 others")
        // Now their size.
        let garbage = [UInt8](repeating: UInt8(ascii: "x"), count: 65_000)
        model = FleetModel(topics: FleetTopics(prefix: "jostle"))
        model.remember(KnownDevices(known: ["known"]))
        for number in 0...FleetModel.maximum.bytes / garbage.count {
            let message = MQTTMessage(topic: "jostle/_registry/invented-\(number)", payload: garbage, retain: true)
            model.update(with: message, at: Timestamp(nanoseconds: 0))
        }
        #expect(model.leftOut.documents == 1)
        let long = report("", more: #","x":"\#(String(repeating: "x", count: 60_000))""#)
        for id in ["known", "stranger"] { take("\(id)/config/reported", long) }
        #expect(model.boards["known"]?.report != nil && model.boards["stranger"]?.report == nil)
        #expect(model.leftOut == (boards: 1, documents: 2))
    }

    @Test(arguments: ["all", "group:laundry", "device:washer-1", "registry:washer-1"])
    func documentNamesReadBack(text: String) throws {
        let topics = FleetTopics(prefix: "jostle")
        let id = try #require(FleetDocumentID(text))
        #expect(id.text == text)
        #expect(FleetDocumentID(topic: id.topic(topics), topics) == id)
    }

    @Test(arguments: ["", "al", "group:", "group:a/b", "device:_x", "all:x", "other:x"])
    func otherNamesAreNone(text: String) {
        #expect(FleetDocumentID(text) == nil)
    }
}

/// Requirement: a new document gets a revision that every device accepts, and lost documents are noticed.
@Suite struct RevisionPlanTests {
    /// With several brokers, another one can have an older document, and boards there say so.
    @Test func olderDocumentAtAnotherBrokerMustBeReplaced() throws {
        let messages: KeyValuePairs = [
            "_all/config": layer(7, "{}"), "a/availability": "online",
            "a/config/reported": report(#""all":{"status":"stale","revision":6,"in_force":7}"#),
        ]
        let model = fleet(messages)
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.repetition == .olderElsewhere && !plan.isUpToDate && plan.next == 8)
        // The board has what it should have.
        let condition = WaitCondition([.all: try revision(.all, model)])
        #expect(condition.boards(in: model).map(\.state) == [.applied])
        let newer = fleet([
            "_all/config": layer(7, "{}"), "a/availability": "online",
            "a/config/reported": report(#""all":{"status":"stale","revision":7,"in_force":8}"#),
        ])
        #expect(RevisionPlan(for: .all, in: newer).repetition == nil)
    }

    @Test func nextIsAboveBrokerAndDevices() {
        let model = fleet([
            "_all/config": layer(7, "{}"), "a/config/reported": report(#""all":{"status":"applied","revision":7}"#),
            "b/config/reported": report(#""all":{"status":"rejected","revision":6,"in_force":5}"#),
        ])
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.held?.number == 7 && plan.next == 8 && plan.ahead.isEmpty && !plan.beginsEpoch)
        #expect(RevisionPlan(for: .group("x"), in: model).next == 1)
    }

    @Test func knowsWhetherTheLostDocumentIsKept() {
        let messages: KeyValuePairs = [
            "_all/config": layer(6, "{}"), "a/config/reported": report(#""all":{"status":"applied","revision":7}"#),
            "a/availability": "online",
        ]
        func isKept(seen: Int64, sent: Set<Int64>) -> Bool {
            var model = fleet(messages)
            model.seen = [.all: DocumentRevision(number: seen, hash: "")]
            model.kept = [.all: Set(sent.map { DocumentRevision(number: $0, hash: "") })]
            let plan = RevisionPlan(for: .all, in: model)
            let isKept = plan.kept != nil
            // What this machine knows needs no new epoch.
            #expect(plan.lost?.number == 7 && plan.beginsEpoch != isKept && plan.next == (isKept ? 8 : 1))
            return isKept
        }
        #expect(!isKept(seen: 6, sent: []) && isKept(seen: 7, sent: []))
        #expect(isKept(seen: 6, sent: [7, 8]) && !isKept(seen: 6, sent: [6, 8]))
        // What was only sent is no proof that the broker lost something.
        var model = fleet(["_all/config": layer(6, "{}")])
        model.kept = [.all: [DocumentRevision(number: 7, hash: "")]]
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.kept == nil && plan.isUpToDate && plan.next == 7)
    }

    /// Numbers repeat in each epoch and after the loss of a store: this machine keeps what was lost only if epoch and hash
    /// are those that the boards report, too.
    @Test(
        arguments: [
            (#""status":"missing","revision":1,"hash":"aaaaaaaaaaaaaaaa""#, "aaaaaaaaaaaaaaaa"),
            (#""status":"missing","revision":1,"hash":"bbbbbbbbbbbbbbbb""#, "bbbbbbbbbbbbbbbb"),
            (#""status":"missing","revision":1,"hash":"cccccccccccccccc","epoch":"0123abcd""#, "cccccccccccccccc"),
            (#""status":"missing","revision":1,"hash":"0000000000000000""#, nil),
            (#""status":"missing","revision":1,"hash":"aaaaaaaaaaaaaaaa","epoch":"0123abcd""#, nil),
            (#""status":"missing","revision":1,"hash":"cccccccccccccccc","epoch":"ffff0000""#, nil),
            // Without a hash, only one document may have the number.
            (#""status":"missing","revision":1"#, nil),
            (#""status":"rejected","revision":9,"epoch":"0123abcd","in_force":1"#, "cccccccccccccccc"),
        ] as [(String, String?)])
    func lostDocumentHasEpochNumberAndHash(text: String, kept: String?) {
        var model = fleet(["a/config/reported": report("\"all\":{\(text)}"), "a/availability": "online"])
        model.kept[.all] = [
            DocumentRevision(number: 1, hash: "aaaaaaaaaaaaaaaa"),
            DocumentRevision(number: 1, hash: "bbbbbbbbbbbbbbbb"),
            DocumentRevision(number: 1, hash: "cccccccccccccccc", epoch: "0123abcd", at: 100),
        ]
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.lost?.number == 1 && plan.kept?.hash == kept)
        #expect(plan.beginsEpoch == (kept == nil) && plan.next == (kept == nil ? 1 : 2))
        #expect(plan.base == plan.kept)
    }

    /// This machine has seen a later document than the broker holds. Boards with exactly the broker's have no later one.
    @Test func boardsWithTheBrokersDocumentAreNotAhead() throws {
        let document = #"{"schema":1,"revision":7,"epoch":"0123abcd","config":{},"at":100}"#
        let hash = try revision(.all, fleet(["_all/config": document])).shortHash
        let applied = "{\"status\":\"applied\",\"revision\":7,\"hash\":\"\(hash)\",\"epoch\":\"0123abcd\"}"
        let messages: KeyValuePairs = [
            "_all/config": document, "a/config/reported": report("\"all\":\(applied)"), "a/availability": "online",
        ]
        var model = fleet(messages)
        model.seen[.all] = DocumentRevision(number: 3, hash: "", epoch: "ffff0000", at: 200)
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.seenNewer?.number == 3 && plan.lost == nil && !plan.beginsEpoch && plan.next == 4)
        #expect(plan.base?.epoch == "ffff0000" && plan.ahead.isEmpty && plan.unreached.isEmpty)
    }

    @Test func devicesAheadOfTheBrokerAreFound() {
        func model(_ b: String) -> FleetModel {
            fleet([
                "_all/config": layer(2, "{}"),
                "a/config/reported": report(#""all":{"status":"missing","revision":41}"#),
                "b/config/reported": report("\"all\":{\(b)}"),
                "c/config/reported": report(#""all":{"status":"applied","revision":2}"#),
                "a/availability": "online", "b/availability": "online", "c/availability": "online",
            ])
        }
        let plan = RevisionPlan(for: .all, in: model(#""status":"stale","revision":2,"in_force":40"#))
        #expect(plan.lost?.number == 41 && plan.beginsEpoch && plan.next == 1 && !plan.isUpToDate)
        #expect(plan.ahead.map(\.id) == ["b", "a"] && plan.ahead.map(\.revision.number) == [40, 41])
        // A new epoch reaches all.
        #expect(plan.unreached.isEmpty)
        // The claim of one of three changes nothing.
        let minority = RevisionPlan(for: .all, in: model(#""status":"applied","revision":2"#))
        #expect(minority.lost == nil && !minority.beginsEpoch && minority.next == 3 && minority.isUpToDate)
        #expect(minority.ahead == [.init(id: "a", revision: DocumentRevision(number: 41, hash: ""))])
        #expect(minority.unreached == minority.ahead)
    }

    /// A number that somebody published by hand, and that boards of earlier programs may have accepted, ends the epoch.
    @Test(arguments: [Int64(1 << 31), 9_000_000_000_000, 1 << 53])
    func hugeNumberOfTheBrokerIsReplaced(number: Int64) {
        let model = fleet(["_all/config": layer(number, "{}")])
        #expect(model.documents[.all]?.problem?.allowed == "1 … 2147483647")
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.held == nil && plan.next == 1 && plan.beginsEpoch && !plan.isUpToDate)
    }

    @Test func lastNumberEndsTheEpoch() {
        let model = fleet([
            "_registry/a": "{\"schema\":1,\"revision\":\(DocumentRevision.maximum),\"groups\":[]}"
        ])
        let plan = RevisionPlan(for: .registry("a"), in: model)
        #expect(plan.next == 1 && plan.beginsEpoch && plan.held != nil)
    }

    /// The broker holds revision 7 of an epoch. Whether another epoch is later, only a board that has judged the document
    /// knows.
    @Test(
        arguments: [
            (#""status":"applied","revision":7,"epoch":"0123abcd""#, .applied, false),
            (#""status":"applied","revision":8,"epoch":"0123abcd""#, .newer, true),
            (#""status":"applied","revision":9007199254740991"#, .waiting, false),
            (
                #""status":"rejected","revision":7,"epoch":"0123abcd","in_force":41,"accepted_epoch":"""#, .refused,
                false
            ),
            (#""status":"rejected","revision":9,"in_force":8"#, .waiting, false),
            (
                #""status":"stale","revision":7,"epoch":"0123abcd","in_force":1,"accepted_epoch":"ffff0000""#, .newer,
                true
            ),
            (#""status":"stale","revision":9,"in_force":7,"accepted_epoch":"0123abcd""#, .applied, false),
            (#""status":"missing","revision":41"#, .waiting, false),
        ] as [(String, BoardReport.Layer.Standing, Bool)])
    func epochsAreCompared(text: String, standing: BoardReport.Layer.Standing, isAhead: Bool) throws {
        let document = #"{"schema":1,"revision":7,"epoch":"0123abcd","config":{},"at":1795182603123}"#
        let model = fleet([
            "_all/config": document, "a/config/reported": report("\"all\":{\(text)}"), "a/availability": "online",
        ])
        let board = try #require(model.boards["a"]?.status(of: .all))
        #expect(board.standing(on: try revision(.all, model)) == standing)
        let plan = RevisionPlan(for: .all, in: model)
        #expect((plan.lost != nil) == isAhead && plan.beginsEpoch == isAhead && plan.next == (isAhead ? 1 : 8))
        #expect(plan.base?.epoch == "0123abcd")
    }

    /// Another broker has a document of the epoch before.
    @Test func olderEpochAtAnotherBrokerMustBeReplaced() {
        let model = fleet([
            "_all/config": #"{"schema":1,"revision":7,"epoch":"0123abcd","config":{},"at":100}"#,
            "a/availability": "online",
            "a/config/reported": report(
                #""all":{"status":"stale","revision":9,"in_force":7,"accepted_epoch":"0123abcd"}"#),
        ])
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.repetition == .olderElsewhere && !plan.isUpToDate && plan.lost == nil && plan.next == 8)
    }

    /// An older epoch that somebody put back, and one that this machine has not seen.
    @Test func seenEpochsAreOrderedByTime() {
        var model = fleet(["_all/config": #"{"schema":1,"revision":7,"epoch":"0123abcd","config":{},"at":100}"#])
        model.seen[.all] = DocumentRevision(number: 3, hash: "", epoch: "ffff0000", at: 101)
        let older = RevisionPlan(for: .all, in: model)
        #expect(
            older.seenNewer?.number == 3 && older.next == 4 && older.base?.epoch == "ffff0000" && !older.beginsEpoch)
        model.seen[.all] = DocumentRevision(number: 9, hash: "", epoch: "ffff0000", at: 99)
        let newer = RevisionPlan(for: .all, in: model)
        #expect(newer.seenNewer == nil && newer.next == 8 && newer.base?.epoch == "0123abcd")
    }

    /// A document from the future is no base: what follows would be older than it.
    @Test func documentFromTheFutureIsNotUsed() {
        let bytes = Array(#"{"schema":1,"revision":7,"config":{},"at":200}"#.utf8)
        #expect(StoredDocument(.all, bytes, latest: 200).problem == nil)
        #expect(StoredDocument(.all, bytes, latest: 199).problem?.path == "at")
    }

    /// A device that was forgotten keeps its revisions, and this machine may be the only one that knows them.
    @Test func numbersSeenEarlierCount() {
        var model = fleet(["a/availability": "offline"])
        model.seen[.device("a")] = DocumentRevision(number: 7, hash: "")
        #expect(RevisionPlan(for: .device("a"), in: model).next == 8)
        #expect(RevisionPlan(for: .device("a"), in: model).seenNewer?.number == 7)
        model = fleet(["_all/config": layer(3, "{}")])
        model.seen[.all] = DocumentRevision(number: 2, hash: "")
        #expect(RevisionPlan(for: .all, in: model).next == 4)
        #expect(RevisionPlan(for: .all, in: model).isUpToDate)
        model.seen[.all] = DocumentRevision(number: 5, hash: "")
        let older = RevisionPlan(for: .all, in: model)
        #expect(older.seenNewer != nil && !older.isUpToDate && older.next == 6)
    }

    /// Two operators published at the same time: a device has the other document of this revision.
    @Test(arguments: ["conflict", "applied"])
    func conflictsAreFound(status: String) throws {
        let other = "\"all\":{\"status\":\"\(status)\",\"revision\":7,\"hash\":\"0000000000000000\"}"
        let model = fleet([
            "_all/config": layer(7, "{}"), "a/config/reported": report(other), "a/availability": "online",
        ])
        let plan = RevisionPlan(for: .all, in: model)
        #expect(plan.repetition == .conflict && !plan.isUpToDate && plan.next == 8)
        let hash = try revision(.all, model).shortHash
        let same = fleet([
            "_all/config": layer(7, "{}"),
            "a/config/reported": report("\"all\":{\"status\":\"applied\",\"revision\":7,\"hash\":\"\(hash)\"}"),
        ])
        #expect(RevisionPlan(for: .all, in: same).isUpToDate)
    }

    @Test func unreadableDocumentCountsWithinReason() {
        let broken = fleet(["_all/config": #"{"schema":1,"revision":9,"x":1}"#])
        #expect(RevisionPlan(for: .all, in: broken).next == 10)
        let huge = fleet(["_all/config": #"{"schema":1,"revision":9007199254740992,"x":1}"#])
        #expect(RevisionPlan(for: .all, in: huge).next == 1 && RevisionPlan(for: .all, in: huge).beginsEpoch)
    }
}
