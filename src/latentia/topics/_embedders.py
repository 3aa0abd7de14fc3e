"""Embeddings of texts, by a user's function or a small model of another package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import LatentiaError, MissingExtraError

_KINDS = ("model2vec", "fastembed")


@dataclass(frozen=True)
class Embedder:
    """Constraint: a function, or PACKAGE:NAME of a model."""

    expectation: str = "expected a function from a list of texts to an array, or 'model2vec:NAME' or 'fastembed:NAME'"

    def allows(self, value: Any) -> bool:
        named = isinstance(value, str) and value.partition(":")[0] in _KINDS and value.partition(":")[2] != ""
        return named or (callable(value) and not isinstance(value, type))


def embed(texts: list[str], embedder: str | Callable[[list[str]], Any]) -> np.ndarray:
    """Compute embeddings of texts, shape (n_documents, D)."""
    function = _load_embedder(embedder)
    try:
        embeddings = np.asarray(function(texts))
    except Exception as error:  # A function of the user may raise anything.
        raise LatentiaError(
            f"Called with {len(texts)} texts, it raised {type(error).__name__}: {error}",
            parameter="embedder", value=embedder,
        ) from error  # fmt: skip
    if embeddings.ndim != 2 or len(embeddings) != len(texts):
        raise LatentiaError(
            f"embedder: expected an array with a row for each of {len(texts)} texts; it returned the shape {embeddings.shape}."
        )
    return embeddings


def _load_embedder(embedder: str | Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    """Return the function of an embedder; packages read or download their models here."""
    if not isinstance(embedder, str):
        return embedder
    kind, _, name = embedder.partition(":")
    try:
        if kind == "model2vec":
            from model2vec import StaticModel

            return StaticModel.from_pretrained(name).encode  # type: ignore[no-any-return]
        from fastembed import TextEmbedding
    except ImportError:
        raise MissingExtraError(kind, "embeddings", f"embedder={embedder!r}") from None
    model = TextEmbedding(model_name=name)
    return lambda texts: np.array(list(model.embed(texts)))
