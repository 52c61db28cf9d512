"""`python -m recollect.daemon`: what hooks start."""

from __future__ import annotations

import os
import sys

from recollect.base.settings import environment
from recollect.daemon.startup import run_daemon

code = run_daemon(environment())
sys.stderr.flush()
os._exit(code)  # at once: nobody waits for threads that still wait for something
