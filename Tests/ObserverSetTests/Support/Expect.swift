import Testing

/// Expects two values to be equal.
///
/// It does what `#expect(value == expected)` does. It is a function, because the suite has more than a thousand such
/// expectations, and the compiler spends thirty milliseconds on each macro, but only one on a call.
func expect<Value: Equatable>(
    _ value: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, comment(), sourceLocation: sourceLocation)
}
