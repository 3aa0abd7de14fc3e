"""Worlds on which evidence is audited, a file a family: some follow its model, some do not, and in some there is nothing."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from latentia.families import estimators

from .world import Case, World

__all__ = ["FAMILIES", "Case", "World", "one_world", "worlds_of"]

FAMILIES = estimators()


@cache
def _all_worlds() -> tuple[World, ...]:
    modules = [import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)]
    return tuple(world for module in modules for world in getattr(module, "WORLDS", ()))


def worlds_of(family: str) -> list[World]:
    """The worlds of a family, in the order right, wrong, empty."""
    return [world for world in _all_worlds() if world.family == family]


def one_world(family: str, name: str) -> World:
    return next(world for world in worlds_of(family) if world.name == name)
