import ObserverSet
import Testing

/// Two layers together: sequences of merged sources and of groups.
@Suite("Sequences of groups", .lifetimesChecked, .againstHanging)
struct SequencesOfGroupsTests {}

extension SequencesOfGroupsTests {
    @Test("A sequence of merged sources or of a group ends when the last member does", arguments: SourceEnd.allCases)
    func membersEndIt(end: SourceEnd) async {
        var sets: [ObserverSet<Int>?] = (0..<3).map { _ in ObserverSet() }
        let merged = sets[0]!.merge(with: sets[1]!.filter { $0 > 0 }, sets[2]!).values()
        let group = ObserverGroup(sets[0]!, ObserverGroup(sets[1]!, sets[2]!)).values()
        let loop = Task { await elements(of: group).count }

        for (number, member) in [1, 0, 2].enumerated() {
            for set in sets { set?.notify(number + 1) }
            end.end(&sets[member])
        }

        expect(await elements(of: merged), equals: [1, 1, 1, 2, 2, 3])
        expect(await loop.value, equals: 6)
    }
}
