"""A time in which the database takes no writes: what everybody is told, and what is true afterwards."""

import re
import time

from place import RECOVERY, within

WRITES_FAIL = "database write failed: nobody can sign in; sessions continue"
WRITES_SUCCEED = "database writes resumed"


def endure(place, crowd, begin, end, cause: str, advice: str, refusals: int = 20) -> None:
    """- begin, end: make the cause and take it away.
    - cause, advice: words of the log's line.
    - refusals: sign-ins that must fail meanwhile."""
    crowd.gets(20)
    mark, size, start = crowd.mark(), place.log.stat().st_size, time.monotonic()
    begin()
    crowd.gets(refusals, 503, since=mark)
    within(RECOVERY, lambda: "storage" in place.problems(), "a state that is not ready")
    asked = time.monotonic()
    # Also when it is asked again and again: what is left of a full disk has room for a small write now and then.
    for _ in range(5):
        problem = place.problems()["storage"]
        assert cause in problem and advice in problem, problem
    assert time.monotonic() - asked < 20, "health waits for what it knows"
    status, text = place.health("/readyz", kind="text/plain")
    assert status == 503 and text.startswith("not ready: the database does not accept writes: ") and cause in text
    assert place.health("/healthz")[0] == 200
    assert place.metric("bramley_ready") == 0
    # Or no answer, when the write waits for longer than Apple does.
    tell_apple(place, 503, None)

    within(RECOVERY, lambda: place.lines(WRITES_FAIL, after=size), "the operator's line")
    lines, seconds = place.lines(after=size), time.monotonic() - start
    told = [line for line in lines if line["message"] == WRITES_FAIL]
    assert 1 <= len(told) <= 1 + int(seconds / 60), told
    assert told[0]["level"] == "error" and cause in told[0]["cause"] and advice in told[0]["do"]
    # Two hundred of one reason and ten a second, and one each of those that work in the background.
    failed = [line for line in lines if line["level"] in ("error", "warning", "critical")]
    assert len(failed) <= 2 * (200 + 10 * seconds), f"{len(failed)} lines in {seconds:.1f} s"
    assert "critical" not in {line["level"] for line in lines}

    check_page(crowd, mark, lines)
    crowd.check_undisturbed(mark, seconds=3)
    assert place.lives

    end()
    mark = crowd.mark()
    within(RECOVERY, place.is_alive_and_ready, "a server that is ready", place.text)
    crowd.gets(10, since=mark)
    within(RECOVERY, lambda: place.lines(WRITES_SUCCEED, after=size), "the line of its end", place.text)
    tell_apple(place, 200)
    finish(place, crowd)


def finish(place, crowd) -> None:
    """Nothing that was acknowledged is lost: now, after kill -9 and a start, and in the database."""
    crowd.stop()
    assert not crowd.failures, crowd.failures
    crowd.check_sessions("at the end")
    # Not in order: what was acknowledged needs no farewell.
    place.kill()
    place.start()
    crowd.check_sessions("after a restart")
    assert place.stop() == 0
    place.check_kept(crowd.tokens())


def check_page(crowd, mark: int, lines: list[dict], statuses: tuple[int, ...] = (503,),
               words: str = "nobody was signed in") -> None:
    """A page says what happened in these words, offers another try, and has a number that the log knows."""
    refused = [noted.answer for noted in crowd.since(mark, "sign-in") if noted.status in statuses]
    numbers = set()
    for answer in refused:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        if answer.status == 503:
            assert 0 < int(answer.headers["Retry-After"]) <= 120
        assert words in answer.text and "Try again" in answer.text, answer.text
        numbers |= set(re.findall(r"Error number <code>([0-9A-F-]{11})</code>", answer.text))
    assert refused and len(numbers) == len(refused)
    assert numbers & {line.get("error_id") for line in lines}


def tell_apple(place, *statuses: int | None) -> None:
    """A notification is acknowledged when it is durable, and never otherwise."""
    place.site.apple.add_person("told")
    told = place.site.apple.call("POST", "notifications", {"type": "email-disabled", "person": "told"})
    assert [delivery.get("status") in statuses for delivery in told["deliveries"]] == [True], told
