import Testing

@testable import ObserverSet

/// The registry of weakly held objects, as the layers use it.
@Suite("A registry of objects", .lifetimesChecked, .againstHanging)
struct WeakObjectTests {
    private let registry = Registry()
}

extension WeakObjectTests {
    @Test("An object that is added again while it is being added is held once, by one registration")
    func addedMeanwhile() {
        let object = Tracked()
        var first: ObserverToken?

        // The closure makes what is stored with the object. It runs after the search for the object, and before the
        // lock is taken.
        let second = unsafe registry.add(object, site: Site()) {
            first = unsafe registry.add(object, site: Site()) { nil }
            return nil
        }

        expect(first, equals: second)
        expect(registry.count, equals: 1)
        #expect(registry.remove(object))
        #expect(!second.remove())
    }
}
