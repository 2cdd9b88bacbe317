import Foundation
import ObserverSet

/// A notification center of the tested world, with the posts under a name, and those of a bridged event.
///
/// Without the default trait, two sets stand in for it.
final class WorldCenter: Sendable {
    #if NotificationCenter
    private let center = NotificationCenter()

    func observers(of place: Int, from sender: WorldSender?) -> any NotificationSource<Parcel> {
        if place == Place.named {
            center.observers(named: .world, object: sender) { $0.userInfo?["value"] as? Parcel }
        } else {
            center.observers(of: BridgedPost.self, object: sender).map(\.value)
        }
    }

    func post(_ value: Parcel, at place: Int, from sender: WorldSender?) {
        if place == Place.named {
            center.post(name: .world, object: sender, userInfo: ["value": value])
        } else {
            center.post(BridgedPost(value: value), object: sender)
        }
    }
    #else
    private let sets = [ObserverSet<Post>(), ObserverSet<Post>()]

    func observers(of place: Int, from sender: WorldSender?) -> any NotificationSource<Parcel> {
        Posts(set: sets[place - Place.named], sender: sender)
    }

    func post(_ value: Parcel, at place: Int, from sender: WorldSender?) {
        sets[place - Place.named].notify(Post(value: value, sender: sender))
    }
    #endif
}

final class WorldSender: Sendable {}

#if NotificationCenter
struct BridgedPost: BridgedEvent {
    let value: Parcel
}

extension Notification.Name {
    fileprivate static let world = Notification.Name("World")
}
#else
private struct Post: Sendable {
    let value: Parcel
    let sender: WorldSender?
}

/// Like a center's source, it doesn't hold what it observes.
private struct Posts: NotificationSource {
    weak let set: ObserverSet<Post>?
    let sender: WorldSender?

    func register(_ observer: ObserverSet.Observer<Parcel>) -> ObserverToken {
        let posts = set?.compactMap { [sender] in sender == nil || $0.sender === sender ? $0.value : nil }
        return posts?.register(observer) ?? ObserverToken([])
    }

    func settled() async { await set?.settled() }
}
#endif
