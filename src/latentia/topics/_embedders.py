"""From texts to embeddings: functions of users, and small models of other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import LatentiaError, MissingExtraError

_KINDS = ("model2vec", "fastembed")


@dataclass(frozen=True)
class Embedder:
    """A function, or the name of a model after that of the package that reads it."""

    expectation: str = "expected a function from a list of texts to an array, or 'model2vec:NAME' or 'fastembed:NAME'"

    def allows(self, value: Any) -> bool:
        named = isinstance(value, str) and value.partition(":")[0] in _KINDS and value.partition(":")[2] != ""
        return named or (callable(value) and not isinstance(value, type))


def embed(texts: list[str], embedder: str | Callable[[list[str]], Any]) -> np.ndarray:
    """Embeddings of texts, shape (n_documents, D)."""
    function = _function_of(embedder)
    try:
        found = np.asarray(function(texts))
    except Exception as error:  # A function of the user may raise anything.
        raise LatentiaError(
            f"It was called with {len(texts)} texts and raised {type(error).__name__}: {error}",
            parameter="embedder", value=embedder,
        ) from error  # fmt: skip
    if found.ndim != 2 or len(found) != len(texts):
        raise LatentiaError(
            f"embedder made an array of the shape {found.shape} of {len(texts)} texts: a row for each text is needed."
        )
    return found


def _function_of(embedder: str | Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    """The function; a package is imported here, and reads or downloads its model."""
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
