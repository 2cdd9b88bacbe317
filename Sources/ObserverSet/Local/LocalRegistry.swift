/// What a local set has once it is observed: the slots, in the order of registration, hence of their ids.
///
/// The set holds it, and so do tokens; it holds neither. Nothing here is atomic or locked: one isolation domain uses it.
///
/// **What makes the raw memory safe.** User code runs in three places: in the call of an observer; where a weak reference to
/// an owner is loaded, since letting go of it again may end the owner; and where a removed observer is released. There it may
/// do anything, to this registry too. Therefore:
///
/// - Calls and weak references stand only in a *pass*, between `beginPass()` and `endPass()`. While there is one, no slot is
///   moved, emptied or released: a removal only marks the slot and lists it in `retired`, and a block that becomes too
///   small is copied bit by bit and kept in `outgrown`, where removals are marked too. So what a pass calls stays alive and
///   where it is until the call has returned, and an index means the same slot throughout.
/// - What is released is first taken out of everything that others can reach: by the outermost pass at its end, or by a
///   removal outside all passes.
/// - A removed slot owns its payload only while it is listed in `retired`, and nobody looks at the payload of a slot that is
///   removed, but for the call that has already begun.
/// - No access to a stored property lasts while user code runs, so that no access can be in the way of another.
@safe final class LocalRegistry {
    private var slots: UnsafeMutablePointer<LocalSlot>
    private var capacity: Int
    /// The slots below are initialised.
    private var end = 0
    /// How many of them are living.
    private var living = 0
    private var lastID: UInt64 = 0
    private var passes = 0
    /// Whether something was removed or outgrown during a pass.
    private var hasRetired = false
    /// Slots that were removed during a pass.
    private var retired: [Int] = []
    /// Blocks that were outgrown during a pass.
    private var outgrown: [UnsafeMutableBufferPointer<LocalSlot>] = unsafe []
    /// How many observers with an owner were added since dead owners were last looked for.
    private var unexamined = 0

    init() {
        capacity = 4
        unsafe slots = .allocate(capacity: capacity)
    }

    deinit {
        // The set has died and removed all; a pass would hold this.
        unsafe slots.deallocate()
    }

    // MARK: Calling

    /// Calls every observer that is there now, in order, unless it is removed before its turn.
    func notify<Parameters>(_ parameters: Parameters) {
        var metDeadOwner = false
        // Those that are added from here on come first in the next notification.
        let end = beginPass()
        // The same throughout: if it is outgrown meanwhile, it is kept, and told what is removed.
        let slots = unsafe slots
        var index = 0
        while index < end {
            let slot = unsafe slots + index
            let isPlain = unsafe slot.pointee.state == .plain
            if _fastPath(isPlain) || isToBeCalled(index) {
                if unsafe !BorrowedLocalPayload.at(slot).pointee.deliver(parameters, isPlain: isPlain) {
                    metDeadOwner = true
                }
            }
            index &+= 1
        }
        endPass()
        if metDeadOwner { removeDead() }
    }

    /// Whether the observer is still there; one that is to be called once is removed as it is called.
    @inline(never)
    private func isToBeCalled(_ index: Int) -> Bool {
        if unsafe slots[index].state == .once {
            retire(index)
            return true
        }
        return unsafe slots[index].isLiving
    }

    // MARK: Changing

    /// Adds an observer, and returns the id of its registration.
    func append(_ payload: consuming LocalPayload, site: Site, isOnce: Bool) -> UInt64 {
        if end == capacity { moveToFreshBlock() }
        lastID += 1
        let id = lastID
        let hasOwner = payload.entry != nil
        unsafe (slots + end).initialize(
            to: LocalSlot(payload: payload, id: id, site: site, state: isOnce ? .once : hasOwner ? .owned : .plain))
        end += 1
        living += 1
        if hasOwner {
            unexamined += 1
            // As many as the walk over all slots costs, so that it costs each of them O(1).
            if unexamined >= max(32, living / 2) { removeDead() }
        }
        return id
    }

    /// Ends a registration; false if it has ended, or its owner is dead.
    func end(_ id: UInt64) -> Bool {
        guard let index = index(of: id) else { return false }
        guard unsafe slots[index].payload.entry != nil else { return remove(id) }
        // A weak reference is loaded in a pass. Letting go of it may end the owner, and its `deinit` the registration.
        _ = beginPass()
        let isAlive = unsafe slots[index].payload.isAlive
        endPass()
        return remove(id) && isAlive
    }

    private func remove(_ id: UInt64) -> Bool {
        guard let index = index(of: id) else { return false }
        if passes > 0 {
            retire(index)
            return true
        }
        unsafe slots[index].state = .removed
        living -= 1
        let payload = unsafe takePayload(of: slots + index)
        // Half of many blank: passes should not walk the blanks.
        if end >= 32, living * 2 < end { moveToFreshBlock() }
        _ = consume payload
        return true
    }

    /// Takes over what a removed slot owns; its memory must only be deallocated from here on.
    private func takePayload(of slot: UnsafeMutablePointer<LocalSlot>) -> LocalPayload {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: LocalPayload.self).move()
    }

    /// Ends all registrations.
    func removeAll() {
        forEachLiving { index in retire(index) }
    }

    /// Ends all registrations of an owner, and returns how many there were.
    func removeAll(ownedBy owner: AnyObject) -> Int {
        var removed = 0
        forEachLiving { index in
            // Letting go of the owner may have ended it, and its `deinit` the registration.
            if unsafe slots[index].payload.entry?.owner === owner, unsafe slots[index].isLiving {
                retire(index)
                removed += 1
            }
        }
        return removed
    }

    /// Removes the entries of dead owners.
    ///
    /// After a pass that met one, and when so many owners were added that it costs each O(1).
    private func removeDead() {
        // First, since letting go of an owner may end it, and its `deinit` add others.
        unexamined = 0
        forEachLiving { index in
            if unsafe !slots[index].payload.isAlive, unsafe slots[index].isLiving { retire(index) }
        }
    }

    // MARK: Looking

    /// The number of observers whose owner, if they have one, is alive.
    var count: Int {
        var count = 0
        forEachLiving { index in
            if unsafe slots[index].payload.isAlive { count += 1 }
        }
        return count
    }

    /// A line for each observer whose owner, if it has one, is alive.
    var descriptions: [String] {
        var lines: [String] = []
        forEachLiving { index in
            if unsafe slots[index].payload.isAlive { lines.append(description(at: index)) }
        }
        return lines
    }

    /// The line for that registration; nil if it has ended, or its owner is dead.
    func description(of id: UInt64) -> String? {
        ifAlive(id) { index in description(at: index) }
    }

    /// Whether that registration still stands, and its owner, if it has one, is alive.
    func isActive(_ id: UInt64) -> Bool {
        ifAlive(id) { _ in true } ?? false
    }

    private func ifAlive<Result>(_ id: UInt64, _ body: (Int) -> Result) -> Result? {
        guard let index = index(of: id) else { return nil }
        _ = beginPass()
        defer { endPass() }
        return unsafe slots[index].payload.isAlive ? body(index) : nil
    }

    private func description(at index: Int) -> String {
        let owner = unsafe slots[index].payload.entry.map { "\($0.ownerType)" } ?? "closure"
        return unsafe "\(owner), registered at \(slots[index].site)"
    }

    /// Where the living slot with that id is.
    private func index(of id: UInt64) -> Int? {
        let place = RisingIDs.place(of: id, among: end) { unsafe slots[$0].id }
        guard let place, unsafe slots[place].isLiving else { return nil }
        return place
    }

    // MARK: Passes

    /// Runs `body` for every living slot, in order, in a pass.
    private func forEachLiving(_ body: (Int) -> Void) {
        for index in 0..<beginPass() where unsafe slots[index].isLiving { body(index) }
        endPass()
    }

    /// Marks a living slot removed, in a pass: from here on it is not called; what it holds stays until the outermost has ended.
    private func retire(_ index: Int) {
        unsafe slots[index].state = .removed
        // The outer passes may be walking these.
        unsafe outgrown.forEach { block in
            if index < block.count { unsafe block[index].state = .removed }
        }
        living -= 1
        retired.append(index)
        hasRetired = true
    }

    /// Returns the end of the slots that the pass is to walk.
    @inline(__always)
    private func beginPass() -> Int {
        passes += 1
        return end
    }

    @inline(__always)
    private func endPass() {
        passes -= 1
        if passes == 0, hasRetired { releaseRetired() }
    }

    /// After the outermost pass: releases what was removed meanwhile.
    @inline(never)
    private func releaseRetired() {
        let removed = retired
        retired = []
        unsafe outgrown.forEach { unsafe $0.deallocate() }
        unsafe outgrown = unsafe []
        hasRetired = false
        guard !removed.isEmpty else { return }
        let old = unsafe slots
        unsafe slots = moved()
        // From here on nobody else reaches the old block, whatever the captures' ends do.
        for index in removed { unsafe (old + index).deinitialize(count: 1) }
        unsafe old.deallocate()
    }

    /// Gives the slots a block with room for as many again; blanks are left behind, unless a pass counts on the indices.
    private func moveToFreshBlock() {
        let old = unsafe UnsafeMutableBufferPointer(start: slots, count: end)
        unsafe slots = moved()
        if passes > 0 {
            unsafe outgrown.append(old)
            hasRetired = true
        } else {
            unsafe old.deallocate()
        }
    }

    /// A fresh block to which the slots have been moved bit by bit: it owns from here on what the living ones own.
    private func moved() -> UnsafeMutablePointer<LocalSlot> {
        let isWalked = passes > 0
        capacity = max(8, 2 * (isWalked ? end : living))
        let fresh = UnsafeMutablePointer<LocalSlot>.allocate(capacity: capacity)
        var count = 0
        for index in 0..<end where unsafe isWalked || slots[index].isLiving {
            unsafe UnsafeMutableRawPointer(fresh + count)
                .copyMemory(from: slots + index, byteCount: MemoryLayout<LocalSlot>.size)
            count += 1
        }
        end = count
        return unsafe fresh
    }
}
