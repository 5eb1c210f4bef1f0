"""What goes wrong at Apple while the run lasts: its endpoints fail at random, its keys rotate."""

import random
import time

# Nothing of this says that a token is dead: a lie of Apple's would be believed, and rightly.
ANYWHERE = [
    {"status": 500}, {"status": 502}, {"status": 503}, {"status": 429}, {"status": 403}, {"status": 404},
    {"status": 503, "body": "garbage"}, {"status": 200, "body": "html"}, {"status": 200, "body": "garbage"}, {"requireUserAgent": True},
    {"hugeBytes": 3_000_000}, {"close": "start"}, {"close": "half"}, {"stall": True}, {"hang": True},
    {"delay": 300}, {"delay": 2_500}, {"contentType": "text/plain"},
]
OF_CLIENTS = [{"error": "invalid_client"}, {"error": "unauthorized_client"}, {"error": "server_error"}]
FAULTS = {"token": ANYWHERE + OF_CLIENTS, "revoke": ANYWHERE + OF_CLIENTS, "keys": ANYWHERE}
KEY_MODES = ["empty", "withoutSigningKey", "duplicateKid", "mixedTypes", "otherTypes"]
# Apple keeps five keys. So slow that a late notification's key is still among them; in seconds.
ROTATION = 20


class Weather:
    def __init__(self, apple, roll: random.Random):
        self.apple, self.roll = apple, roll
        self.faults, self.rotations, self.rotated = 0, 0, time.monotonic()

    def change(self) -> None:
        """Lets go what hangs, and makes some endpoints fail, one request or all."""
        self.apple.call("POST", "faults/reset")
        for endpoint, faults in FAULTS.items():
            if self.roll.random() < 0.6:
                fault = dict(self.roll.choice(faults))
                if self.roll.random() < 0.3:
                    fault["remaining"] = self.roll.randrange(1, 4)
                self.apple.call("PUT", f"faults/{endpoint}", fault)
                self.faults += 1
        self.apple.call("PUT", "keys", {"mode": self.roll.choice(KEY_MODES) if self.roll.random() < 0.1 else "normal"})
        if time.monotonic() - self.rotated > ROTATION:
            self.apple.call("POST", "keys/rotate", {})
            self.rotations, self.rotated = self.rotations + 1, time.monotonic()
        self.apple.call("PUT", "behaviour", {
            "errorAfterRevocation": self.roll.choice(["invalid_grant", "invalid_request"]),
            "describesErrors": self.roll.random() < 0.5, "notifiesOnRevoke": self.roll.random() < 0.3})

    def clear(self) -> None:
        self.apple.call("POST", "faults/reset")
        self.apple.call("PUT", "keys", {"mode": "normal"})

    def run(self, stop) -> None:
        while not stop.wait(self.roll.uniform(0.7, 3)):
            self.change()
        self.clear()


class Courier:
    """Carries Apple's notifications: at once, late, twice, in any order; some never arrive."""

    def __init__(self, deliver, roll: random.Random):
        self.deliver, self.roll = deliver, roll
        self.bag: list[tuple[float, dict]] = []
        self.lost = self.repeated = 0

    def take(self, notification: dict, may_be_lost: bool = True) -> None:
        dice = self.roll.random()
        if may_be_lost and dice < 0.2:
            self.lost += 1
            return
        self.bag.append((time.monotonic() + (0 if dice < 0.6 else self.roll.uniform(0.5, 20)), notification))
        if self.roll.random() < 0.3:
            self.repeated += 1
            self.bag.append((time.monotonic() + self.roll.uniform(0, 20), notification))

    def carry(self, everything: bool = False) -> None:
        """Delivers what is due; what the server does not take comes again later."""
        due = [entry for entry in list(self.bag) if everything or entry[0] <= time.monotonic()]
        self.roll.shuffle(due)
        for entry in due:
            self.bag.remove(entry)
            if self.deliver(entry[1]):
                entry[1]["arrived"] = True
            else:
                self.bag.append((time.monotonic() + 1, entry[1]))

    def run(self, stop) -> None:
        while not stop.wait(0.1):
            self.carry()
