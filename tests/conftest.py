"""What all tests share."""

from hypothesis import settings

# No deadlines: a slow moment of a shared machine is no fault of the code, and what must be fast is measured under scripts/bench.
# Derandomised: the same run on every machine; a wider search is `pytest --hypothesis-seed=random --hypothesis-profile=wide`.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("wide", deadline=None, max_examples=1000)
settings.load_profile("default")
