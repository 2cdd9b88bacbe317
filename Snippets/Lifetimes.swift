// Four ways in which an observer ends.
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
        // 1. An observer ends together with its owner, which is held weakly.
        radio.tuned.add(self) { display, megahertz in print("  \(display.name) shows \(megahertz)") }
    }
}

@MainActor final class Recorder {
    // 2. An observer ends together with the bag that holds its token. This bag is released together with the recorder.
    private let bag = ObserverBag()

    init(_ radio: Radio) {
        radio.tuned.add { megahertz in print("  recorded: tuned to \(megahertz)") }.store(in: bag)
    }
}

let radio = Radio()
var display: Display? = Display("kitchen", radio)
var recorder: Recorder? = Recorder(radio)

// 3. An observer that is added to `once` ends after one call.
_ = radio.tuned.once.add { _ in print("  the first tune of the day") }

// 4. An observer ends when you remove its token.
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
