"""How a sweep is run: actors on trio, each owning what it opens."""
