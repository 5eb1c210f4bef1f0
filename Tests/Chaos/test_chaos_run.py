"""Twenty seconds of chaos.py; `make chaos` runs more of it."""

import os
import random

from chaos import chaos


def test_bramley_and_apple_agree_about_everybody(binaries, tmp_path):
    seconds = float(os.environ.get("CHAOS_SECONDS", "20"))
    seed = int(os.environ.get("CHAOS_SEED", str(random.randrange(1_000_000))))
    assert chaos(binaries, tmp_path, seconds, people=18, seed=seed) == []
