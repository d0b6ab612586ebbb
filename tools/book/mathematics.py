"""Formulas: LaTeX between dollar signs becomes MathML while the site is built, so no page needs a script for them."""

from __future__ import annotations

import html
import re
from functools import cache

from latex2mathml.converter import convert

# What pymdownx.arithmatex leaves behind: \( … \) in a span, \[ … \] in a div.
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def with_mathml(page: str) -> str:
    """A page whose formulas are MathML."""
    page = _INLINE.sub(lambda found: mathml(html.unescape(found[1])), page)
    return _DISPLAY.sub(lambda found: mathml(html.unescape(found[1]), display="block"), page)


# A prime as a superscript is raised twice, because its glyph stands high already.
_PRIME = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>")
_PRIMED = r'<mrow>\1<mo lspace="0" rspace="0">&#x02032;</mo></mrow>'
# Signs that common fonts lack, or that are operators and not letters.
_BAR = '<mo lspace="0.05em" rspace="0.05em" stretchy="false">&#x0007C;</mo>'
_SIGNS = {"<mi>&#x029F5;</mi>": "<mo>&#x0005C;</mo>", '<mo stretchy="false">&#x0007C;</mo>': _BAR}


@cache
def mathml(formula: str, display: str = "inline") -> str:
    """One formula; the source stays as its text for those who cannot see it."""
    made = _PRIME.sub(_PRIMED, convert(formula.strip(), display=display))
    for sign, better in _SIGNS.items():
        made = made.replace(sign, better)
    made = made.replace("<math ", f'<math aria-label="{html.escape(formula.strip(), quote=True)}" ', 1)
    return f'<div class="formula">{made}</div>' if display == "block" else made
