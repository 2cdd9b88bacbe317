import ObserverSet
import Testing

/// Two layers together: sequences of merged sources and of groups.
@Suite("Sequences of groups", .lifetimesChecked, .againstHanging)
struct SequencesOfGroupsTests {
    @Test(
        "A sequence of merged sources or of a group ends when the last member has ended it",
        arguments: SourceEnd.allCases)
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

    @Test("A sequence of merged sources that send once ends after one element")
    func once() async {
        let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
        let sequence = other.merge(with: set).once.values()
        for value in 1...3 { set.notify(value) }

        #expect(set.isEmpty && other.isEmpty)
        expect(await elements(of: sequence), equals: [1])
    }

    @Test("A sequence of a set that is merged with nothing ends with the set")
    func mergedWithNothing() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let sequence = set!.merge(with: []).values()
        set?.notify(1)
        set = nil

        expect(await elements(of: sequence), equals: [1])
    }
}
