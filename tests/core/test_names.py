"""Every module of the core is tested by a file of its name, or by the file that a row here names."""

from pathlib import Path

import pytest

import activeeval

CORE, HERE = Path(activeeval.__file__).parent / "core", Path(__file__).parent
TESTS = HERE.parent
BY = {
    "test_verdict_rule.py": ["answers"],
    "test_architecture.py": ["lazily"],
    "inputs/test_options.py": ["checks", "options"],
    "cli/test_passwords.py": ["masked_addresses"],
    "report/test_caution_lines.py": ["results"],
    "core/pool/test_queries.py": ["types", "pool/grades", "kernels/checks"],
    # campaign
    "core/campaign/test_campaign.py": [
        *("campaign/record", "campaign/requested_units", "campaign/units"),
        *("campaign/judging_rules", "kernels/evidence"),
    ],
    "core/campaign/test_campaign_reading.py": ["campaign/reading"],
    "core/campaign/test_rounds.py": ["campaign/joint_estimates"],
    "core/campaign/test_adaptive_batches.py": ["campaign/probabilities", "design/query_paths"],
    # design
    "core/design/test_beliefs.py": ["kernels/known_grades"],
    "core/design/test_carried_samples.py": ["kernels/items"],
    "core/design/test_histories.py": [
        *("design/adaptive_readings", "design/unresolved_variance", "kernels/residual_variance"),
        "kernels/sequential_values",
    ],
    "core/design/test_label_values.py": ["kernels/orders", "measures/terms"],
    "core/design/test_levels.py": ["kernels/levels", "kernels/sampling"],
    "core/design/test_methods.py": ["design/designs", "design/inputs", "design/n_threads", "design/stages"],
    "core/design/test_nodes.py": ["design/expectations"],
    "core/design/test_prefix_readings.py": ["kernels/prefixes", "kernels/partly_judged"],
    "core/design/test_rates.py": ["kernels/judging", "kernels/rates"],
    "core/design/test_readings.py": ["design/selections", "design/value_sums", "kernels/label_draws"],
    "core/simulation/test_replications.py": [
        *("design/replacement", "kernels/replication", "simulation/contrasts", "simulation/figures")
    ],
    "core/simulation/test_summaries.py": ["simulation/savings"],
    # estimation
    "core/estimation/test_estimators.py": ["kernels/estimates", "kernels/regression"],
    "core/estimation/test_intervals.py": ["kernels/intervals"],
    # grade models
    "core/grade_models/test_featureless.py": ["grade_models/probabilities", "grade_models/tuning"],
    "core/grade_models/test_laws.py": ["grade_models/base"],
    "core/grade_models/test_grader.py": ["grade_models/values"],
    "core/grade_models/test_query_factor.py": ["grade_models/cross_fitting"],
    # judgments
    "core/judgments/test_agreement.py": [
        *("judgments/coded_grades", "judgments/coefficients", "judgments/judgment", "judgments/table"),
        "judgments/counting",
    ],
    "core/judgments/test_judging.py": ["judgments/policies"],
    "formats/test_comparisons.py": ["judgments/comparisons"],
    "web/test_controls.py": ["judgments/controls"],
    "web/test_training.py": ["judgments/wilson_intervals"],
    "campaigns/test_campaign_state.py": ["judgments/log", "judgments/state"],
    "sampling/test_people_sheets.py": ["judgments/assignment_shares", "judgments/judge_names"],
    "scoring/test_judging_times.py": ["judgments/seconds"],
    # measures
    "core/measures/test_families.py": ["measures/ranked", "measures/ranking_checks", "kernels/scores"],
    "formats/test_gains_as_judgments.py": ["measures/judged_gains"],
    "core/measures/test_moments.py": ["measures/target", "kernels/moments"],
    "core/measures/test_rank_gains.py": ["measures/gains_and_discounts"],
    "core/measures/test_top_k_measures.py": ["measures/top_k", "kernels/top_k", "kernels/tie_values"],
    "core/campaign/test_labels.py": ["measures/labels"],
    "core/design/test_paired_items.py": ["design/pairs", "design/item_stage", "design/order_places", "kernels/pairing"],
    # planning
    "core/planning/test_planner.py": [
        *("planning/curves", "planning/forecasts", "planning/goals", "planning/held_out"),
        *("planning/plans", "planning/prospects", "planning/rehearsals", "planning/scales", "planning/values"),
    ],
    "core/planning/test_new_labels.py": ["planning/least_budget"],
    "sampling/test_pools_in_files.py": ["planning/forecasts_by_sums"],
    "sampling/test_prices.py": ["planning/prices"],
    # pool
    "core/pool/test_identity.py": ["kernels/numbers"],
    "core/pool/test_id_checks.py": ["pool/texts"],
    "formats/test_tables.py": ["pool/keyed", "pool/keys", "kernels/text/keys", "kernels/text/columns"],
    "formats/test_letor.py": ["kernels/text/bytes", "kernels/text/letor", "kernels/text/number_texts"],
    "traffic/test_queries_in_python.py": ["pool/draws"],
    # other kernels
    "cli/test_waiting.py": ["kernels/first_use"],
    "adaptation/test_adaptation.py": ["kernels/bundles", "kernels/learning/leaf_pairs", "kernels/learning/trees"],
    "rankers/test_topk_losses.py": ["kernels/learning/losses"],
}
"""Modules without a file of their name, by the file that tests them."""


def modules(core):
    """Return the modules of a core by their paths in it, without fronts of packages."""
    return {path.relative_to(core).with_suffix("") for path in core.rglob("*.py") if path.name != "__init__.py"}


def has_its_own(module, tests):
    """Whether there is a test file of a module's name."""
    return (tests / Path(module).parent / f"test_{Path(module).name}.py").exists()


def untested(core, tests, rows):
    """Return the modules that neither a test file nor a row names."""
    named = {Path(module) for listed in rows.values() for module in listed}
    return {module for module in modules(core) - named if not has_its_own(module, tests)}


def test_every_module_has_a_test_by_name():
    assert sorted(map(str, untested(CORE, HERE, BY))) == []


@pytest.mark.parametrize("file", BY)
def test_a_row_names_modules_without_a_file_of_their_own(file):
    assert (TESTS / file).is_file()
    assert {Path(module) for module in BY[file]} <= modules(CORE)
    assert [module for module in BY[file] if has_its_own(module, HERE)] == []


def test_no_module_has_two_rows():
    listed = [module for modules_of in BY.values() for module in modules_of]
    assert sorted(listed) == sorted(set(listed))


def test_a_module_without_a_test_is_noticed(tmp_path):
    core, tests = tmp_path / "core", tmp_path / "tests"
    for path in (core / "a" / "one.py", core / "a" / "two.py", core / "three.py", tests / "a" / "test_one.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert untested(core, tests, {"test_x.py": ["three"]}) == {Path("a/two")}
