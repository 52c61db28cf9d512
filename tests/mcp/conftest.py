from tests.daemon.conftest import common_house, house, shared
from tests.wire.conftest import runtime

__all__ = ["common_house", "house", "runtime", "shared"]
