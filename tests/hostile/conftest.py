"""Operations and hooks on a real home."""

from tests.ops.conftest import app, embedder, open_app, transcript

__all__ = ["app", "embedder", "open_app", "transcript"]
