"""The machine's clock is set by two hours, to either side, and back."""

import os
import time
from pathlib import Path

import pytest

from outage import check_page, finish
from place import RECOVERY, within

CLOCK_WAS_SET = "clock jump detected"


class Clock:
    """The wall clock of one program. The one that only counts is the machine's, as it is when a clock is set."""

    def __init__(self, library: Path, folder: Path):
        self.file = folder / "clock"
        self.set(0)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET": str(self.file)}

    def set(self, seconds: int) -> None:
        # At once: half a file would be another time.
        draft = self.file.with_suffix(".draft")
        draft.write_text(str(seconds))
        os.replace(draft, self.file)


@pytest.mark.parametrize("seconds, reason", [(7200, "client_refused"), (-7200, "clock")])
def test_a_wrong_clock_for_a_while_ends_no_session(library, make_place, make_crowd, seconds, reason):
    place = make_place()
    clock = Clock(library("clock"), place.folder)
    place.start(environment=clock.environment)
    crowd = make_crowd(place)
    crowd.gets(20)

    mark, size, start = crowd.mark(), place.log.stat().st_size, time.monotonic()
    clock.set(seconds)
    within(RECOVERY, lambda: place.lines(CLOCK_WAS_SET, after=size), "the operator's line", place.text)
    told = place.lines(CLOCK_WAS_SET, after=size)
    assert len(told) == 1 and abs(int(told[0]["seconds"]) - seconds) <= 2 and "NTP" in told[0]["do"], told
    # Sign-ins fail, and say why: Apple's times, or ours at Apple, make no sense.
    wrong, known = crowd.mark(), place.log.stat().st_size
    crowd.gets(20, 400, since=wrong)
    assert set(crowd.statuses(wrong, "sign-in")) == {400}
    reasons = {line["reason"] for line in place.lines("request failed", after=known)}
    # Who was on their way when it happened may have met the other one.
    assert reason in reasons and reasons <= {"clock", "client_refused", "stale_state"}, reasons
    lines = place.lines(after=size)
    assert len([line for line in lines if line["level"] in ("error", "warning")]) <= 200 + 10 * (time.monotonic() - start)
    check_page(crowd, wrong, lines, statuses=(400,), words="Try again" if reason == "clock" else "")
    crowd.check_undisturbed(mark, seconds=3)
    assert place.is_alive_and_ready(), place.health("/readyz")
    if reason == "client_refused":
        # A token from the future is refused before Apple is asked for anything.
        assert place.metric("bramley_apple_clock_offset_seconds") > 7000

    clock.set(0)
    mark = crowd.mark()
    crowd.gets(20, since=mark)
    within(RECOVERY, lambda: len(place.lines(CLOCK_WAS_SET, after=size)) == 2, "the line of its end", place.text)
    # Those of before are signed in as they were, and nobody is shut out.
    late = crowd.mark()
    crowd.gets(5, since=late)
    crowd.check_undisturbed(late, "sign-in")
    finish(place, crowd)


def test_sessions_idle_by_a_wrong_clock_work_again_with_the_right_one(library, make_place, make_crowd):
    place = make_place({"sessions.idleTimeout": 3600, "sessions.lifetime": 7200})
    clock = Clock(library("clock"), place.folder)
    place.start(environment=clock.environment)
    crowd = make_crowd(place)
    crowd.gets(20)
    crowd.stop()
    crowd.check_sessions("before")
    clock.set(10800)
    connection = crowd.connect()
    within(RECOVERY, lambda: crowd.verify(connection, crowd.tokens()[0]).status == 401, "a session that is over")
    assert {crowd.verify(connection, token).status for token in crowd.tokens()} == {401}
    assert place.is_alive_and_ready()
    clock.set(0)
    within(RECOVERY, lambda: crowd.verify(connection, crowd.tokens()[0]).status == 204, "the session again")
    connection.close()
    finish(place, crowd)
