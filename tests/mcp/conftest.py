from tests.daemon.conftest import house
from tests.wire.conftest import runtime

__all__ = ["house", "runtime"]
