"""``latentia apply``: what a saved model says of other data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import persistence
from ..communities import MixedMembershipBlockModel
from ..deep import SparseNetwork
from ..dictionary import IncoherentDictionary
from ..exceptions import LatentiaError
from ..ica import TensorICA
from ..matrices import ProbabilityMatrix
from ..mixtures import MultiViewMixture, SphericalGaussianMixture
from ..multilabel import MomentMultiLabelClassifier
from ..nmf import ApproximateNMF, SeparableNMF
from ..noisyor import NoisyOr
from ..sequences import SpectralHMM, TwoStateHMM
from ..topics import AnchorTopics, SingleTopicModel, SpectralLDA
from . import dictionary, network
from ._shared import MODEL_FILE, Cache, Encoding, Force, Jobs, NoCache, Out, Quiet, Reading, Results, named, say
from ._tables import missing_help
from .communities import apply_communities
from .contrast import CONTRASTIVE, apply_contrast
from .dictionary import apply_dictionary
from .hmm import apply_hmm
from .ica import apply_ica
from .labels import apply_labels
from .matrix import apply_matrix
from .mixture import apply_mixture
from .network import apply_network
from .nmf import apply_nmf
from .noisy_or import apply_noisy_or
from .topics import apply_topics

__all__ = ["apply"]

_Apply = Callable[..., Callable[[Path], object]]
_FAMILIES: dict[type, tuple[_Apply, str]] = {
    AnchorTopics: (apply_topics, "documents.csv"),
    SpectralLDA: (apply_topics, "documents.csv"),
    SingleTopicModel: (apply_topics, "documents.csv"),
    MomentMultiLabelClassifier: (apply_labels, "predictions.csv"),
    SpectralHMM: (apply_hmm, "paths.csv"),
    TwoStateHMM: (apply_hmm, "paths.csv"),
    SphericalGaussianMixture: (apply_mixture, "labels.csv"),
    MultiViewMixture: (apply_mixture, "labels.csv"),
    TensorICA: (apply_ica, "sources.csv"),
    NoisyOr: (apply_noisy_or, "posteriors.csv"),
    ProbabilityMatrix: (apply_matrix, "pairs.csv"),
    MixedMembershipBlockModel: (apply_communities, "memberships.csv"),
    IncoherentDictionary: (apply_dictionary, "codes.csv"),
    SparseNetwork: (apply_network, "codes.csv"),
    SeparableNMF: (apply_nmf, "weights.csv"),
    ApproximateNMF: (apply_nmf, "weights.csv"),
}
_OF_ROWS = apply_mixture, apply_ica, apply_noisy_or, apply_dictionary, apply_network, apply_nmf
_OF_TEXTS = apply_topics, apply_labels
_DENOISING: dict[Any, Callable[[Any, Path, bool], str]] = {
    apply_dictionary: dictionary.applied_file,
    apply_network: network.applied_file,
}
_SCORES = "scores.csv"  # of models of two tables


def apply(
    model: Annotated[Path, typer.Argument(help="A folder of results, or its model.npz.")],
    source: Annotated[
        Path, typer.Argument(help="Other data, in a form that the command which learned the model reads.")
    ],
    other: Annotated[
        Path | None, typer.Argument(metavar="V", help="Of 'contrast' models: V, a second table of the same rows.")
    ] = None,
    out: Out = Path("applied"),
    missing: Annotated[str | None, typer.Option("--missing", help=missing_help("drop"))] = None,
    denoise: Annotated[
        bool,
        typer.Option(
            "--denoise", help="Of 'dictionary' and 'network': write the rows as the model has them, not their codes."
        ),
    ] = False,
    column: Annotated[
        str | None,
        typer.Option(help="Text column of a CSV file or workbook; by default the one that the model was learned from."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(help="Of texts: how they are cut, see 'topics'; none, or by default as the model's were."),
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    encoding: Encoding = None,
    jobs: Jobs = -1,
    force: Force = False,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """Apply a model to other data: its topics, labels, states, components, sources, causes, pairs, communities or codes."""
    path = model / MODEL_FILE if model.is_dir() else model
    if not path.exists():
        raise LatentiaError(f"{model}: no model there. Give a folder of results, or its {MODEL_FILE}.")
    fitted = persistence.load(path)
    of_two = type(fitted) in CONTRASTIVE
    if type(fitted) not in _FAMILIES and not of_two:
        raise LatentiaError(f"{path}: a {type(fitted).__name__}, which cannot be applied to other data here.")
    if other is not None and not of_two:
        raise LatentiaError(f"{other}: a {type(fitted).__name__} is applied to one source; leave this one out.")
    family, file = (None, _SCORES) if of_two else _FAMILIES[type(fitted)]
    own: dict[str, Any] = {}
    if family in _DENOISING:
        file, own = _DENOISING[family](fitted, source, denoise), {"denoise": denoise}
    elif denoise:
        raise LatentiaError(f"--denoise: a {type(fitted).__name__} has no rows to write; leave it out.")
    texts = {name: value for name, value in (("column", column), ("split", split)) if value is not None}
    if texts and family not in _OF_TEXTS:
        raise LatentiaError(f"--{next(iter(texts))}: a {type(fitted).__name__} is not applied to texts; leave it out.")
    own |= texts
    results = Results(out, source, (file,), force, progress=not quiet, model=path)
    for one in (source, other):
        if one is not None:
            replace(results, source=one).check()
    ways = ("drop",) if of_two or family in _OF_ROWS else ()
    if missing is not None and not ways:
        raise LatentiaError(f"--missing: a {type(fitted).__name__} is not applied to rows of a table; leave it out.")
    how = Reading.of(quiet, cache, no_cache, missing, ways, encoding=encoding)
    fitted.set_params(n_jobs=jobs, verbose=not quiet)
    console = Console()
    with named(source.name), warnings.catch_warnings():  # names of columns are compared as the source is read
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        write = (
            family(fitted, source, console, how, **own)
            if family
            else apply_contrast(fitted, source, console, how, other)
        )
        files = results.write(lambda folder: write(folder / file))
    say(console, f"Wrote {file} of the {type(fitted).__name__} in {path} to {out}")
    return {
        "source": str(source), "out": str(out), "files": files, "model": str(path), "estimator": type(fitted).__name__,
    }  # fmt: skip
