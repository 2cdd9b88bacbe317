/// An observer: a function, and what the registration has beyond one.
struct Payload<Parameters: Sendable>: Sendable {
    /// The observer, isolation removed; it stands here so that a call needs no other load.
    fileprivate let call: @Sendable (Parameters) -> Void
    /// An `Entry<Parameters>`; kept as its superclass, which unspecialised code releases without a look at metadata.
    let entry: AnyEntry?
    /// The actor on which `call` may be called in place, if nothing waits in the entry's mailbox.
    ///
    /// Zero if anywhere, which is when there is no entry, or if only the entry knows how.
    fileprivate let isolation: UInt

    /// An observer that may be called anywhere.
    init(call: @escaping @Sendable (Parameters) -> Void) {
        self.init(call: call, entry: nil, isolation: 0)
    }

    /// An observer that only its entry knows how to call.
    init(entry: Entry<Parameters>) {
        // Never called. A literal would capture the parameters' type, in a box for each observer.
        let nothing = unsafe unsafeBitCast(Nothing(), to: Function.self)
        self.init(call: nothing.call, entry: entry, isolation: 0)
    }

    /// An observer that is to be called on that actor.
    init(call: @escaping @Sendable (Parameters) -> Void, hop: HopEntry<Parameters>, isolation: UInt) {
        self.init(call: call, entry: hop, isolation: isolation)
    }

    private struct Function {
        let call: @Sendable (Parameters) -> Void
    }

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        if let entry {
            return unsafe unsafeDowncast(entry, to: Entry<Parameters>.self).deliver(parameters, from: here)
        }
        call(parameters)
        return true
    }

    /// The same, for a registration of its own.
    func registered() -> Payload {
        guard let entry else { return self }
        return Payload(call: call, entry: entry.registered(), isolation: isolation)
    }

    private init(call: @escaping @Sendable (Parameters) -> Void, entry: AnyEntry?, isolation: UInt) {
        self.call = call
        self.entry = entry
        self.isolation = isolation
    }
}

/// A payload whose parameters' type has been forgotten, so that everything but the call itself is ordinary,
/// unspecialised code: it can be kept and released.
///
/// Why the casts are sound: a stored function is two words, its code and its context, and a reference is one, whatever
/// the parameters' type; keeping and releasing touch only the references. Only `ObserverSet<Parameters>` puts payloads
/// into its registry, all of that type, and only it has them called.
struct AnyPayload: @unchecked Sendable {
    /// Stands for the function: never called as what its type says.
    private let call: @Sendable () -> Void
    private(set) var entry: AnyEntry?
    private let isolation: UInt

    /// The payload of a registration of its own.
    @inline(__always)
    init<Parameters: Sendable>(registering payload: Payload<Parameters>) {
        self = unsafe unsafeBitCast(payload, to: AnyPayload.self)
        if let entry { self.entry = entry.registered() }
    }
}

/// A payload as a pass sees it in its slot: borrowed.
///
/// Nothing is retained but what the call itself retains.
@unsafe struct BorrowedPayload<Parameters: Sendable>: ~Copyable {
    /// The payload in a slot.
    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedPayload> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedPayload.self)
    }

    private let call: @Sendable (Parameters) -> Void
    private let entry: Unmanaged<AnyEntry>?
    private let isolation: UInt

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    ///
    /// `isPlain` says that there is no entry.
    @inline(__always)
    borrowing func deliver(_ parameters: Parameters, from here: UInt, isPlain: Bool) -> Bool {
        guard unsafe isPlain || mayCall(from: here) else { return unsafe deliverByEntry(parameters, from: here) }
        unsafe call(parameters)
        return true
    }

    /// Whether the function belongs where the notifier is, and a call in place would overtake nothing.
    @inline(__always)
    private borrowing func mayCall(from here: UInt) -> Bool {
        // Only an observer that hops has an isolation.
        unsafe isolation != 0 && isolation == here
            && entry.unsafelyUnwrapped._withUnsafeGuaranteedRef {
                unsafe unsafeDowncast($0, to: HopEntry<Parameters>.self).isIdle
            }
    }

    @inline(__always)
    private borrowing func deliverByEntry(_ parameters: Parameters, from here: UInt) -> Bool {
        unsafe entry.unsafelyUnwrapped._withUnsafeGuaranteedRef {
            unsafe unsafeDowncast($0, to: Entry<Parameters>.self).deliver(parameters, from: here)
        }
    }
}

/// A function without a context, whatever it is taken for.
private struct Nothing {
    let call: @Sendable () -> Void = {}
}
