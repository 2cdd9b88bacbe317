import Testing

// The compiler spends thirty milliseconds on each `#expect` with an operator, which it takes apart to say what its parts
// were, and one or two on a call of these functions. The suite has more than a thousand.

/// Expects two values to be equal, as `#expect(value == expected)` does.
func expect<Value: Equatable>(
    _ value: Value, equals expected: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, comment(), sourceLocation: sourceLocation)
}

/// Expects a value not to be greater than the limit.
func expect<Value: Comparable>(
    _ value: Value, atMost limit: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value <= limit, comment(), sourceLocation: sourceLocation)
}

/// Expects a value not to be less than the limit.
func expect<Value: Comparable>(
    _ value: Value, atLeast limit: Value, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value >= limit, comment(), sourceLocation: sourceLocation)
}

/// Expects what an expression with other operators says.
func expect(
    _ isSo: Bool, _ comment: @autoclosure () -> Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(isSo, comment(), sourceLocation: sourceLocation)
}
