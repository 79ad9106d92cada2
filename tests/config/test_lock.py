"""What a run may be extended by, and what must not be mixed."""

import json

import attrs
import cattrs.preconf.json
import pytest

from stamina.config.lock import Lock, difference, identity, merged
from stamina.config.plan import plan
from stamina.errors import InputError
from tests.config.config_samples import LARGE, SMALL, sweep


def lock(text: str = LARGE, *flags: str, benchmark: str = "1", package: str = "0.1.0", prompts: str = "abc") -> Lock:
    """The lock of a sweep."""
    return identity(plan(sweep(text, *flags)), benchmark=benchmark, package=package, prompts=prompts)


def test_the_same_plan_is_the_same_run() -> None:
    """Also with what bears on no score: concurrency, budget, places of keys, calls in flight."""
    other = lock(LARGE.replace("GLM_KEY", "OTHER").replace("price =", "max_in_flight = 3\nprice ="), "sweep.concurrency=2", "budget.sweep_usd=3")

    assert difference(lock(), other) == difference(lock(), lock())
    assert not difference(lock(), other).refusals


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["sweep.seeds=0-29"], "seeds 20, 21, 22, 23, 24, 25, 26, 27, 28, 29 are new"),
        (["sweep.repeats=3"], "repeats 1 → 3"),
        (["sweep.turns=120"], "cell mock: turns 100 → 120"),
        (["sweep.retries=10"], "cell mock: retries 2 → 10"),
        (["vary.0.retries=[0, 2]"], "cell mock-r0 is new"),
    ],
)
def test_more_of_the_same_is_an_extension(flags: list[str], line: str) -> None:
    """More seeds, repeats and cells, larger turns and retries."""
    found = difference(lock(), lock(LARGE, *flags))

    assert found.refusals == ()
    assert line in found.extensions


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["sweep.turns=50"], "cell mock: turns 100 → 50 (a run can only grow)"),
        (["sweep.retries=1"], "cell mock: retries 2 → 1 (a run can only grow)"),
        (["sweep.on_exhausted=continue"], 'cell mock: on_exhausted was "stop", is "continue"'),
        (["scenario.changes_per_turn=6"], "cell mock: changes_per_turn was 5, is 6"),
        (["agent.1.chance=0.25"], "cell mock: agent.options.chance was 0.5, is 0.25"),
        (["model.glm-5.price.input=1"], "cell opencode-1.4.3-glm-5: model.price.input was 0.6, is 1.0"),
        (["model.glm-5.params.temperature=1"], "cell opencode-1.4.3-glm-5: model.params.temperature was nothing, is 1"),
        (["sandbox.memory=8GiB"], "sandbox.memory was 4294967296, is 8589934592"),
    ],
)
def test_anything_else_is_refused(flags: list[str], line: str) -> None:
    """With the key, what it was and what it is."""
    found = difference(lock(), lock(LARGE, *flags))

    assert line in found.refusals
    with pytest.raises(InputError, match="results must not be mixed"):
        found.check("runs/x")


@pytest.mark.parametrize(("part", "words"), [("benchmark", "benchmark version"), ("package", "stamina version"), ("prompts", "text of the prompts")])
def test_versions_are_not_mixed(part: str, words: str) -> None:
    """Scores of different benchmark versions are never pooled (T7)."""
    found = difference(lock(), lock(**{part: "zzz"}))

    assert [f"{words} was"] == [line[: len(words) + 4] for line in found.refusals]


def test_an_image_is_part_of_what_a_run_is() -> None:
    """Another one is refused unless somebody says that it may be; one that nobody knew of is no difference, and a new harness brings its own."""
    old, new = attrs.evolve(lock(), images={"mock": "sha256:a"}), attrs.evolve(lock(), images={"mock": "sha256:b", "opencode": "sha256:c"})

    assert "the image of mock was sha256:a, which this engine does not have any more, and is sha256:b" in difference(old, new).refusals[0]
    allowed = difference(old, new, other_images=True)
    assert (allowed.refusals, len(allowed.extensions)) == ((), 1)
    assert merged(old, new).images == new.images
    assert difference(lock(), new).refusals == ()
    assert merged(old, lock()).images == old.images


def test_what_a_new_plan_leaves_out_stays() -> None:
    """A smaller plan plays part of a run; the lock still names all of it."""
    part = lock(SMALL.replace("reference", "mock") + 'chance = 0.5\nkinds = ["validation"]\n[sandbox]\nenv = { LANG = "C" }\n')
    found = difference(lock(), part)

    assert found.refusals == ()
    assert "cell opencode-1.4.3-glm-5 stays as it is" in found.kept
    assert set(lock().seeds) == set(merged(lock(), part).seeds)
    assert [cell.slug for cell in lock().cells] == [cell.slug for cell in merged(lock(), part).cells]


def test_secrets_in_the_environment_do_not_reach_the_lock() -> None:
    """Only their digests do, which still tell when one differs."""
    secret = lock(LARGE, "sandbox.env.TOKEN=hunter2", "agent.0.env.KEY=hunter3")

    assert "hunter" not in json.dumps(cattrs.preconf.json.make_converter().unstructure(secret))
    assert any("sandbox.env.TOKEN" in line for line in difference(secret, lock(LARGE, "sandbox.env.TOKEN=other", "agent.0.env.KEY=hunter3")).refusals)


def test_a_lock_survives_json() -> None:
    """Written and read back it is the same run."""
    converter = cattrs.preconf.json.make_converter(forbid_extra_keys=True)
    read = converter.structure(json.loads(json.dumps(converter.unstructure(lock()))), Lock)

    assert difference(lock(), lock()) == difference(read, lock())
    assert not difference(read, lock()).refusals
