"""What the shipped model is called and known by. Loads nothing: who only asks for its name waits for no numpy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shipment:
    name: str
    sha256: str

    @property
    def id(self) -> str:
        return f"{self.name}:{self.sha256[:12]}"


SHIPPED = Shipment("all-minilm-l6-v2-int8", "672b605665e9c68d27eab03544de7af2a2416f8840c2fbf1b736976054bd3e39")
