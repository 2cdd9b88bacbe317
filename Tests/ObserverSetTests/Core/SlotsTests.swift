import Testing

@testable import ObserverSet

/// Where a block's slots lie in its memory.
@Suite("The slots of a set")
struct SlotsTests {
    @Test(
        "In a block, every slot is aligned and inside the memory, whether a word has four bytes or eight",
        arguments: [(4, 32), (4, 40), (8, 40), (8, 48)])
    func layout(word: Int, slot: Int) {
        let alignment = MemoryLayout<Slot>.alignment
        expect(alignment, equals: 8)
        for capacity in 1...8 {
            let (slots, size) = unsafe Block.layout(capacity: capacity, word: word, slot: slot)

            #expect((0..<capacity).allSatisfy { (slots + $0 * slot).isMultiple(of: alignment) })
            #expect(slots >= word && slots < word + alignment)
            expect(size, equals: slots + capacity * slot)
        }
    }

    @Test("The slots of a block are where its layout says")
    func block() {
        let block = unsafe Block(capacity: 3)
        defer { unsafe block.memory.deallocate() }

        unsafe expect(UnsafeMutableRawPointer(block.slots) - block.memory, equals: Block.layout(capacity: 3).slots)
        expect(MemoryLayout<Slot>.stride, equals: 3 * MemoryLayout<Int>.size + 16)
    }
}
