"""Waiting for what cannot wake us: another process, its files, its database."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

# Seconds until something that should have happened is given up. Nothing of it is spent when it happens, so it is long
# enough for any machine.
PATIENCE = 180


def eventually(condition, what: str, more=lambda: ""):
    """The condition's value as soon as it is true; fails with `more` if it never is."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}\n{more()}"
        time.sleep(0.05)
    return found


def at_once(count: int, call) -> list:
    """The results of this many concurrent calls; each gets its number."""
    ready = threading.Barrier(count)

    def begin(number: int):
        ready.wait()
        return call(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count)))


def killed_while(kill, moment, call, *arguments) -> None:
    """Kills a program while it answers this call, once the moment has come."""
    with ThreadPoolExecutor(1) as pool:
        lost = pool.submit(call, *arguments)
        eventually(moment, "the right moment to kill it")
        kill()
        assert lost.exception() is not None


def guarded(errors: list, over: threading.Event, work, *arguments) -> threading.Thread:
    """A running thread; what it raises ends the others and is kept."""
    def run():
        try:
            work(*arguments)
        except BaseException as error:
            errors.append(error)
            over.set()

    thread = threading.Thread(target=run)
    thread.start()
    return thread
