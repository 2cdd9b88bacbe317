// Four ways for an observer to end, none of which has to be remembered.
//
//     swift run Lifetimes

import ObserverSet

@MainActor final class Radio {
    let tuned = ObserverSet<Double>()
}

@MainActor final class Display {
    let name: String

    init(_ name: String, _ radio: Radio) {
        self.name = name
        // 1. With its owner, which is held weakly.
        radio.tuned.add(self) { display, megahertz in print("  \(display.name) shows \(megahertz)") }
    }
}

@MainActor final class Recorder {
    // 2. With the bag that holds its token: whatever ends the recorder ends the bag.
    private let bag = ObserverBag()

    init(_ radio: Radio) {
        radio.tuned.add { megahertz in print("  recorded: tuned to \(megahertz)") }.store(in: bag)
    }
}

let radio = Radio()
var display: Display? = Display("kitchen", radio)
var recorder: Recorder? = Recorder(radio)

// 3. After one call.
_ = radio.tuned.once.add { _ in print("  the first tune of the day") }

// 4. When its token is removed.
let token = radio.tuned.add { megahertz in if megahertz > 100 { print("  high up the band") } }

func tune(to megahertz: Double) {
    print("\(megahertz) MHz, heard by \(radio.tuned.count)")
    radio.tuned.notify(megahertz)
}

withExtendedLifetime((display, recorder)) { tune(to: 101.5) }
display = nil
withExtendedLifetime(recorder) { tune(to: 104.2) }
recorder = nil
tune(to: 107.8)
token.remove()
tune(to: 88.1)
