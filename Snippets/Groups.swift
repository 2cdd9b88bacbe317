// Several sources that are observed as one.
//
//     swift run Groups

import ObserverSet

@MainActor final class Recipe {
    let titleChanged = ObserverSet<String>()
    let ingredientAdded = ObserverSet<(name: String, grams: Int)>()
    let stepsReordered = ObserverSet<(Int, Int)>()

    /// All changes that make a saved copy out of date.
    var changed: ObserverGroup { ObserverGroup(titleChanged, ingredientAdded, stepsReordered) }

    /// Every new word in the recipe: its titles, and the names of its ingredients.
    var worded: some NotificationSource<String> { titleChanged.merge(with: ingredientAdded.map(\.name)) }
}

/// An actor, which receives the changes in order, while the cook continues.
actor Store {
    private var changes = 0

    func observe(_ changed: ObserverGroup) {
        changed.add(self) { store in store.changes += 1 }
    }

    func save() { print("saved a recipe with \(changes) changes") }
}

let recipe = Recipe()
let store = Store()
await store.observe(recipe.changed)

// This observer is called only once, for the first change of any kind.
_ = recipe.changed.once.add { print("the recipe is edited") }

// The members of a merged source have the same parameters, so its observers receive the values.
_ = recipe.worded.filter { $0.count > 8 }.add { word in print("new: \(word)") }

// One token ends all three registrations.
let marker = recipe.changed.add { print("unsaved changes") }

recipe.titleChanged.notify("Shakshuka")
recipe.ingredientAdded.notify((name: "tomatoes", grams: 800))
marker.remove()
recipe.stepsReordered.notify(2, 1)

await recipe.changed.settled()
await store.save()
