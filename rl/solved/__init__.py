"""Games whose truth can be computed, to measure what networks learn."""
