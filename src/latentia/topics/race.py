"""Race of topic models on the hidden words of documents that none of them was learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..exceptions import LatentiaError
from ..metrics import split_tokens

_STANDARD_ERRORS = 2.0  # paired standard errors by which a challenger must predict better


@dataclass(frozen=True)
class Race:
    """Perplexity of models on the same hidden words.

    Attributes
    ----------
    perplexities : dict from str to float
        Of a hidden word given the other half of its document, by name of the model; the default model comes first.
    chosen : str
        The model that is best, or the default one where the best is not clearly better than it.
    gain : float
        Nats a word by which the best challenger predicts better than the default model; negative where it is worse.
    standard_error : float
        Of the gain, paired by document.
    n_words, n_documents : int
        Hidden words, and documents that have any.
    """

    perplexities: dict[str, float]
    chosen: str
    gain: float
    standard_error: float
    n_words: int
    n_documents: int

    def __str__(self) -> str:
        default, *challengers = self.perplexities
        best = min(challengers, key=self.perplexities.__getitem__)
        values = ", ".join(f"{name} {value:,.0f}" for name, value in self.perplexities.items())
        verb = "better" if self.gain > 0 else "worse"
        clear = abs(self.gain) > _STANDARD_ERRORS * self.standard_error
        reason = f"{best} is {verb} by {abs(self.gain):.3f} +- {self.standard_error:.3f} nats a word"
        return (
            f"{self.chosen}: perplexity of {self.n_words:,} hidden words of {self.n_documents:,} held-out documents: {values}; "
            f"{reason}{'' if clear else f', which is not clear, and {default} is the default'}."
        )


def race_on_hidden_words(models: Mapping[str, Any], counts: sparse.csr_array) -> Race:
    """Compare models by the words of documents, each half of them given the other half.

    Parameters
    ----------
    models : dict from str to AnchorTopics, SpectralLDA or SingleTopicModel
        Two or more fitted models; the first is the default one.
    counts : csr_array of shape (n_documents, V)
        Documents that the models were not learned from.

    Returns
    -------
    Race

    Raises
    ------
    LatentiaError
        If the documents have no words to hide.
    """
    words = np.asarray(split_tokens(counts)[1].sum(axis=1)).ravel()
    if not words.sum():
        raise LatentiaError("Expected held-out documents of two words or more; these have no words to hide.")
    scores = {name: model._completion(counts) for name, model in models.items()}
    default, *challengers = scores
    best = max(challengers, key=lambda name: scores[name].sum())
    gains = scores[best] - scores[default]
    gain = float(gains.sum() / words.sum())
    standard_error = float(np.sqrt(((gains - gain * words) ** 2).sum()) / words.sum())
    return Race(
        perplexities={name: float(np.exp(-score.sum() / words.sum())) for name, score in scores.items()},
        chosen=best if gain > _STANDARD_ERRORS * standard_error else default,
        gain=gain,
        standard_error=standard_error,
        n_words=int(words.sum()),
        n_documents=int(np.count_nonzero(words)),
    )
