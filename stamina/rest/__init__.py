"""The REST domain: an API that grows, its text, its tests and its ground truth."""
