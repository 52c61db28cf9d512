"""`python -m recollect.daemon`: what hooks start."""

from __future__ import annotations

import os
import sys

from recollect.base.settings import environment
from recollect.daemon.life import live

code = live(environment())
sys.stderr.flush()
os._exit(code)  # at once: threads that still wait for something are not waited for
