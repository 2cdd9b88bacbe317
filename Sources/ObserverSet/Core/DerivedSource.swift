/// A source that is made of other sources, and can be made again of them.
///
/// `package`, not internal: the layers have such sources, too.
package protocol DerivedSource: NotificationSource {
    /// Returns a function that makes the same source again, and nil when the objects behind it are gone.
    ///
    /// The function does not keep these objects alive.
    func remaking() -> @Sendable () -> Self?
}

extension NotificationSource {
    /// A function that returns this source, or the same source made again, and nil when the object behind it is gone.
    ///
    /// The function does not keep that object alive: a sequence of a mapped set ends with the set, as one of the set
    /// itself does. Another source that is a value is held, since nobody knows what it is made of.
    package func heldWeakly() -> @Sendable () -> Self? {
        if Self.self is any AnyObject.Type {
            let strong = self as! any NotificationSource & AnyObject
            weak let object = strong
            return { object.map { $0 as! Self } }
        }
        guard let derived = self as? any DerivedSource else { return { self } }
        let remake = derived.remaking()
        return { remake().map { $0 as! Self } }
    }
}
