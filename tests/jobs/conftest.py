from tests.daemon.conftest import house
from tests.ops.conftest import app, embedder, open_app
from tests.wire.conftest import runtime

__all__ = ["app", "embedder", "house", "open_app", "runtime"]
