import ObserverSet

/// Has the same name as a private type in `EventTypeTests.swift`.
private struct PrivateSaved: Event {}

func privateSavedOfAnotherFile() -> some Event { PrivateSaved() }
