import Foundation
import ObserverSet

/// A notification center of the tested world, with the posts under a name, and those of a bridged event.
///
/// Without the default trait, a publisher stands in for it.
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
    private let publisher = EventPublisher()

    func observers(of place: Int, from sender: WorldSender?) -> any NotificationSource<Parcel> {
        func observers<Post: WorldPost>(of type: Post.Type) -> any NotificationSource<Parcel> {
            publisher.observers(of: type).compactMap { sender == nil || $0.sender === sender ? $0.value : nil }
        }
        return place == Place.named ? observers(of: NamedPost.self) : observers(of: OtherPost.self)
    }

    func post(_ value: Parcel, at place: Int, from sender: WorldSender?) {
        if place == Place.named {
            publisher.publish(NamedPost(value: value, sender: sender))
        } else {
            publisher.publish(OtherPost(value: value, sender: sender))
        }
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
private protocol WorldPost: Event {
    var value: Parcel { get }
    var sender: WorldSender? { get }
}

private struct NamedPost: WorldPost {
    let value: Parcel
    let sender: WorldSender?
}

private struct OtherPost: WorldPost {
    let value: Parcel
    let sender: WorldSender?
}
#endif
