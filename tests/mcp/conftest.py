from tests.daemon.conftest import house

__all__ = ["house"]
