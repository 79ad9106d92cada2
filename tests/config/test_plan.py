"""Plans: cells, names, order of work, bounds and notes."""

import pytest

from stamina.config.estimate import describe, estimate, requests_of_suites
from stamina.config.plan import plan
from tests.config.config_samples import LARGE, SMALL, sweep


def slugs(text: str, *flags: str) -> list[str]:
    """The names of all cells."""
    return [cell.slug for cell in plan(sweep(text, *flags)).cells]


def test_every_combination_of_a_grid_is_a_cell() -> None:
    """For each agent; what differs from [sweep] shows in the name."""
    expected = ["opencode-1.4.3-glm-5", "opencode-1.4.3-glm-5-rust", "opencode-1.4.3-glm-5-minimal", "opencode-1.4.3-glm-5-minimal-rust"]

    assert [*expected, "mock", "mock-rust", "mock-minimal", "mock-minimal-rust"] == slugs(LARGE)


def test_grids_share_cells() -> None:
    """Two ablations in one file play their common baseline once."""
    text = SMALL + '[[vary]]\nfeedback = ["detailed", "minimal"]\n[[vary]]\nlanguage = ["python", "rust"]\n'

    assert slugs(text) == ["reference", "reference-minimal", "reference-rust"]


def test_a_cell_keeps_its_name_when_others_are_added() -> None:
    """So a run can be extended by cells."""
    assert set(slugs(SMALL)) < set(slugs(SMALL + '[[vary]]\nretries = [0, 2]\nlanguage = ["python", "go"]\n[[agent]]\nharness = "mock"\n'))


@pytest.mark.parametrize(
    ("vary", "slug"),
    [
        ("turns = [5]", "reference-t5"),
        ("retries = [10]", "reference-r10"),
        ("changes_per_turn = [6]", "reference-k6"),
        ('on_exhausted = ["continue"]', "reference-continue"),
        ('sampler = ["difficulty"]', "reference-difficulty"),
        ("call_seconds = [90]", "reference-call90s"),
        ('seed_salt = ["open sesame"]', "reference-salt-41ef4bb0"),
        ('version = ["2.0 beta/1"]', "reference-2.0-beta-1"),
    ],
)
def test_names_are_short_and_safe(vary: str, slug: str) -> None:
    """Readable, without separators, and the salt stays secret."""
    assert [slug] == slugs(f"{SMALL}[[vary]]\n{vary}\n")


def test_long_names_are_cut_and_stay_apart() -> None:
    """Two models with long names."""
    models = ["m" * 50 + "x" * 14, "m" * 50 + "y" * 14]
    tables = "".join(f'[model.{model}]\nprovider = "openai"\nid = "m"\ncontext_window = 9000\n' for model in models)
    text = f'[sweep]\nname = "x"\nseeds = 0\n[[agent]]\nharness = "opencode"\nversion = "1.2.3-some-nightly-build"\nmodel = {models!r}\n{tables}'
    found = slugs(text)

    assert len(set(found)) == 2
    assert max(map(len, found)) <= 80


def test_work_goes_round_the_cells() -> None:
    """Each block is one scenario for every cell, in an order that differs between blocks and not between runs."""
    made = plan(sweep(LARGE, "sweep.repeats=2"))
    size = len(made.cells)
    blocks = [made.work[at : at + size] for at in range(0, len(made.work), size)]

    assert [(repeat, seed) for repeat in range(2) for seed in range(20)] == [(block[0].repeat, block[0].seed) for block in blocks]
    assert all({work.cell.slug for work in block} == {cell.slug for cell in made.cells} for block in blocks)
    assert len({tuple(work.cell.slug for work in block) for block in blocks}) > 10
    assert made == plan(sweep(LARGE, "sweep.repeats=2"))


def test_says_how_much_a_plan_is_at_most() -> None:
    """Calls are turns times attempts; the price of a cell follows its model's."""
    bounds = estimate(plan(sweep(LARGE)))

    assert (bounds.scenarios, bounds.agent_calls) == (160, 160 * 101 * 3)
    assert 160 * 3 * requests_of_suites(100, 5) == bounds.requests
    assert pytest.approx(4500 * 0.60 + 7.5 * 2.08) == bounds.cells[0].usd
    assert bounds.cells[-1].usd == 0.0


def test_an_unknown_price_is_unknown() -> None:
    """It is not free."""
    made = plan(sweep(LARGE.replace("price =", "params =").replace("zai.glm-5", "zai.glm-6").partition("[budget]")[0]))
    bounds = estimate(made)

    assert bounds.cells[0].usd is None
    assert bounds.unpriced[0] == "opencode-1.4.3-glm-5"
    assert "cost unknown" in describe(made)


def test_a_price_that_is_in_the_table_is_used_and_said() -> None:
    """As by budgets and reports."""
    bounds = estimate(plan(sweep(LARGE.replace("price =", "params ="))))

    assert bounds.cells[0].usd == estimate(plan(sweep(LARGE))).cells[0].usd
    assert "no price is given for glm-5: the paper's own prices are used" in bounds.notes


def test_a_short_sweep_costs_less_than_its_share_of_turns() -> None:
    """A conversation is sent again with each request, and a young one is short."""
    whole, short = (estimate(plan(sweep(LARGE, f"sweep.turns={turns}"))).cells[0].usd for turns in (100, 5))

    assert whole is not None
    assert short is not None
    assert whole / 300 < short < whole / 60


def test_a_scripted_model_costs_nothing() -> None:
    """It is played by us."""
    bounds = estimate(plan(sweep(LARGE.replace('provider = "bedrock"', 'provider = "scripted"').replace("price =", "params ="))))

    assert (bounds.cells[0].usd, bounds.unpriced) == (0.0, ())


def test_describes_a_plan_in_plain_lines() -> None:
    """What --dry-run prints."""
    text = describe(plan(sweep(LARGE.replace("[[vary]]", "[[vary]]\nretries = [0, 2]").replace('language = ["python", "rust"]\n', ""))))
    lines = text.splitlines()

    assert lines[0] == "large: 8 cells × 20 seeds × 1 repeat = 160 scenarios"
    assert lines[1] == "  opencode-1.4.3-glm-5-r0          20 scenarios of 101 turns, at most 2,020 agent calls, about $2,716"
    assert "budget: $50 for a scenario and $1,500 for the sweep" in lines
    assert lines[-1].startswith("note: retries is varied: each value is an independent repetition at full price. One run with retries = 2 already gives")
