"""A receiver that fails nine times in ten, and a server killed every few seconds."""

import os
import random
import threading
import time

import pytest
from standardwebhooks.webhooks import Webhook

from receiver import Answer, Receiver, new_secret, status
from sender import Sender

PEOPLE = int(os.environ.get("WEBHOOK_CHAOS_PEOPLE", "20"))
SEED = int(os.environ.get("WEBHOOK_CHAOS_SEED", str(random.randrange(1_000_000))))
PATIENCE = 1200


def unreliable(roll: random.Random):
    """Accepts one in ten; else an error, a hang-up anywhere, garbage, an answer that drips or never comes."""
    def answer(arrival) -> Answer | None:
        dice = roll.random()
        if dice < 0.10:
            return status(204)
        if dice < 0.40:
            return status(roll.choice([400, 401, 404, 500, 502, 503, 302]), keeps=roll.random() < 0.5)
        if dice < 0.60:
            return Answer([b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", b"half"])
        if dice < 0.75:
            return Answer([])
        if dice < 0.90:
            return Answer([bytes(roll.randrange(256) for _ in range(roll.randrange(1, 400)))])
        if dice < 0.98:
            # Slow, and then no good either.
            return Answer([b"HTTP/1.1 2", b"00 OK\r\n", b"Content-Length: 9\r\n\r\n", b"x"], pause=0.2)
        return None

    return answer


@pytest.mark.long
def test_each_event_arrives_in_order_and_none_is_lost(make_site):
    print(f"WEBHOOK_CHAOS_SEED={SEED}")
    roll = random.Random(SEED)
    receivers = [Receiver(unreliable(random.Random(SEED + index))) for index in range(2)]
    site = make_site({}, Sender, urls=[receiver.url() for receiver in receivers])
    secrets, stop, kills, begun = [site.secret], threading.Event(), 0, time.monotonic()

    def live() -> None:
        """People come and go as long as there is a server; what it did not answer may have happened or not."""
        left = [site.new_person() for _ in range(PEOPLE)]
        while left and not stop.is_set():
            try:
                site.sign_out(site.sign_in(left[0]))
                left.pop(0)
            except (OSError, AssertionError):
                # Killed in the middle: the same person tries again.
                stop.wait(0.1)

    def retry() -> None:
        """The operator has no patience for the documented delays: everything that waits is due again."""
        while not stop.wait(0.4):
            for receiver in receivers:
                try:
                    site.operator.run("webhooks", "retry", "--endpoint", receiver.url())
                except OSError:
                    # The machine did not start it; without the next one, all would wait for the delays.
                    continue

    workers = [threading.Thread(target=live), threading.Thread(target=retry)]
    for worker in workers:
        worker.start()
    try:
        while True:
            # The moment of the kill is the test's own choice; there is no event to wait for.
            time.sleep(roll.uniform(2, 5))
            site.kill()
            kills += 1
            if kills == 2:
                secrets.append(new_secret())
                site.write_secrets(secrets[1], secrets[0])
            journal = site.journal()
            done = all(set(event for event, _ in journal) == set(receiver.accepted()) for receiver in receivers)
            if done and not workers[0].is_alive():
                break
            assert time.monotonic() - begun < PATIENCE, "not everything arrived"
            site.start()
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    journal = site.journal()
    users = dict(journal)
    assert len(journal) >= 3 * PEOPLE
    for receiver in receivers:
        accepted: set[str] = set()
        bodies: dict[str, bytes] = {}
        for arrival in receiver.arrivals:
            assert arrival.id in users, "an event that is not in the journal"
            # Genuine, whichever of the two secrets a receiver has.
            Webhook(secrets[0]).verify(arrival.body, arrival.headers)
            user = users[arrival.id]
            line = [event for event, other in journal if other == user]
            assert set(line[:line.index(arrival.id)]) <= accepted, "an event came before an earlier one of its user"
            if arrival.accepted:
                accepted.add(arrival.id)
            assert bodies.setdefault(arrival.id, arrival.body) == arrival.body, "a repeat says something else"
        assert accepted == set(users), "an event is lost"
        receiver.close()
    assert site.operator.database("PRAGMA integrity_check") == [("ok",)]
