import Foundation
import Testing

/// The programs of `Tools/fuzz` that together reach every part of the code that the fuzzer has reached.
@Suite("The fuzzer's programs", .againstHanging)
struct CorpusTests {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../../Tools/Fuzzing/Corpus")
        .standardized

    @Test("Each of the fuzzer's programs behaves as the contract says")
    func programsAgree() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
        #expect(files.count > 50)

        for file in files {
            let choices = ByteChoices([UInt8](try Data(contentsOf: file)))
            if let divergence = ModelRound.firstDivergence(choosingBy: choices, operations: 4_096) {
                Issue.record("\(file.lastPathComponent)\n\(ProgramShrinker.shortest(divergence).report)")
            }
        }
    }

    @Test(
        "The fuzzer's programs detect each mistake in the model", .positiveControl,
        arguments: ModelWorld.Fault.allCases)
    func programsNotice(_ fault: ModelWorld.Fault) throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)

        let isNoticed = try files.contains { file in
            let choices = ByteChoices([UInt8](try Data(contentsOf: file)))
            return ModelRound.firstDivergence(choosingBy: choices, operations: 4_096, fault: fault) != nil
        }

        #expect(isNoticed)
    }
}
