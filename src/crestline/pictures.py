"""Charts by Altair, drawn in this process, without a browser or a network."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from crestline.charts.tokens import tokens
from crestline.errors import ParameterError

if TYPE_CHECKING:
    from altair import TopLevelMixin

_COLOURS, _FONT, SIZE = tokens()["light"], tokens()["font"], tokens()["size"]
COLOUR, PALE, DARK, QUIET = (_COLOURS[name] for name in ("bar", "bar-quiet", "ink", "context"))
BACKGROUND, OTHER = _COLOURS["card"], _COLOURS["series-2"]
_FORMATS = ("svg", "png", "pdf")
_CONFIG: dict[str, Any] = {
    "font": _FONT["sans"],
    "background": BACKGROUND,
    # The reader's font may be wider than the one the layout was computed for; labels must not be cut off.
    "padding": {**dict.fromkeys(("right", "top", "bottom"), SIZE["margin"]), "left": 2.5 * SIZE["margin"]},
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "gridColor": _COLOURS["line"],
        "labelColor": _COLOURS["quiet"],
        "labelFontSize": SIZE["font_axis"],
        "labelLimit": 0,
        "titleColor": _COLOURS["quiet"],
        "titleFontSize": SIZE["font_axis"],
        "titleFontWeight": "normal",
    },
    "axisY": {"labelPadding": 8, "labelColor": DARK, "labelFontSize": SIZE["font_label"]},
    "text": {"color": DARK},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "font": _FONT["title"],
        "fontSize": SIZE["font_title"],
        "color": DARK,
        "subtitleFont": _FONT["sans"],
        "subtitleFontSize": SIZE["font_axis"] + 1,
        "subtitleColor": _COLOURS["quiet"],
        "subtitlePadding": 8,
        "offset": 14,
    },
}


@dataclass(frozen=True)
class Picture:
    """A finished chart of Altair; a notebook shows its SVG, in which every label is inert text."""

    chart: TopLevelMixin

    def svg(self) -> str:
        """The chart as SVG."""
        text: str = _import_converter().vegalite_to_svg(self._specification())
        return text

    def png(self, scale: float = 2.0) -> bytes:
        """The chart as PNG, `scale` times the size of the SVG."""
        data: bytes = _import_converter().vegalite_to_png(self._specification(), scale=scale)
        return data

    def pdf(self) -> bytes:
        """The chart as PDF."""
        data: bytes = _import_converter().vegalite_to_pdf(self._specification())
        return data

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart to a file whose name ends in .svg, .png or .pdf.

        Raises:
            ParameterError: The name ends otherwise, or the file cannot be written.
        """
        make = {"svg": lambda: self.svg().encode(), "png": self.png, "pdf": self.pdf}[format_of_ending(path)]
        _write(Path(path), make())

    def _repr_svg_(self) -> str:
        return self.svg()

    def _specification(self) -> dict[str, Any]:
        """Vega-Lite specification of the chart, with the common style."""
        specification: dict[str, Any] = self.chart.to_dict()
        return {**specification, "config": _CONFIG}


def import_altair() -> ModuleType:
    """Import Altair; raise ParameterError with the command that installs it where it is missing."""
    return _import_or_refuse("altair")


def format_of_ending(path: str | os.PathLike[str]) -> str:
    """One of `svg`, `png` and `pdf`, from the ending of a name; raises ParameterError for another."""
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in _FORMATS:
        raise ParameterError(f"a picture's name ends in .svg, .png or .pdf, not {os.fspath(path)!r}")
    return ending


def check_can_draw(path: str | os.PathLike[str]) -> None:
    """Raise ParameterError if a chart could not be saved here, before anything is asked or charged."""
    format_of_ending(path)
    import_altair()
    _import_converter()
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise ParameterError(f"there is no folder {folder} for the picture: make it first, or choose another")


def _import_converter() -> ModuleType:
    """Import the converter to SVG, PNG and PDF."""
    return _import_or_refuse("vl_convert")


def _import_or_refuse(module: str) -> ModuleType:
    """Import a module of the `plot` extra; raise ParameterError where it is missing."""
    try:
        return import_module(module)
    except ImportError:
        raise ParameterError("pictures need two more packages: pip install 'crestline[plot]'") from None


def _write(path: Path, data: bytes) -> None:
    """Write a file; raise ParameterError where that fails."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise ParameterError(f"the picture cannot be written to {path}: {error.strerror}") from None
