"""What is audited: mechanisms of other libraries, and algorithms as papers print them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

_OPENDP = "reproduction/audits/opendp_top_k.py"
_DIFFPRIVLIB = "reproduction/audits/diffprivlib_selection.py"
_PRINTED = "tests.audit.broken"


@dataclass(frozen=True)
class Audited:
    """A target of `crestline audit`, the library that it needs, and what is said about it."""

    target: str
    words: str
    library: str = ""
    remark: str = ""

    @property
    def told_apart(self) -> bool:
        """Whether its law is looked at, too."""
        return self.target.endswith(":under_zcdp")

    @property
    def releases(self) -> int:
        """How many releases the attack may take; OpenDP makes a few thousand in a second."""
        return 120_000 if self.library == "opendp" else 600_000

    @property
    def version(self) -> str | None:
        """The installed version of the library; the empty text for what needs none, None when it is not there."""
        if not self.library:
            return ""
        try:
            return version(self.library)
        except PackageNotFoundError:
            return None


TWIN = f"{_OPENDP}:as_issue_2911_says"
AUDITED = (
    Audited(f"{_OPENDP}:under_zcdp", "`make_noisy_top_k`, zCDP, k = 1", "opendp"),
    Audited(f"{_OPENDP}:under_zcdp_two_items", "`make_noisy_top_k`, zCDP, k = 2", "opendp"),
    Audited(f"{_OPENDP}:under_pure_dp", "`make_noisy_top_k`, pure DP, k = 1", "opendp"),
    Audited(TWIN, "a broken twin of ours: its permute-and-flip, charged ε²/8", "opendp"),
    Audited(f"{_DIFFPRIVLIB}:exponential", "`Exponential`, monotonic", "diffprivlib"),
    Audited(f"{_DIFFPRIVLIB}:permute_and_flip", "`PermuteAndFlip`, monotonic", "diffprivlib"),
    Audited(f"{_DIFFPRIVLIB}:geometric_counts", "counts with `Geometric` noise", "diffprivlib"),
    Audited(f"{_DIFFPRIVLIB}:snapping_counts", "counts with `Snapping`", "diffprivlib"),
    Audited(f"{_DIFFPRIVLIB}:laplace_counts", "counts with `Laplace` noise, every digit printed", "diffprivlib"),
    Audited(f"{_PRINTED}.limited_domain:PrintedThreshold", "[DR] Algorithm 4", remark="E-A2"),
    Audited(f"{_PRINTED}.optimal_threshold:AddedGumbel", "[DR] Algorithm 6, the choice alone", remark="E-A7"),
    Audited(f"{_PRINTED}.fixed_threshold:PrintedCondition", "[DR] Algorithm 8", remark="E-A11"),
    Audited(f"{_PRINTED}.top_stable:NoNextCount", "[TS] Section 3, k_bar entries", remark="E-B5"),
    Audited(f"{_PRINTED}.top_stable:OnePositionOff", "[TS] the authors' program", remark="one position off"),
    Audited(f"{_PRINTED}.framework:LabelDependent", "[FW] Theorem 1, a box that reads labels", remark="E-C2"),
    Audited(f"{_PRINTED}.framework:AlphabeticalTest", "[FW] Algorithm 1, tested by label", remark="E-C8"),
    Audited(f"{_PRINTED}.framework:TrueOrderTest", "[FW] Algorithm 1, tested by true count", remark="E-C8"),
    Audited(f"{_PRINTED}.framework:NoPadding", "[FW] Algorithm 1, without padding", remark="E-C8"),
    Audited(f"{_PRINTED}.known_domain:PrintedSensitivity", "[SL] sensitivity of the introduction", remark="E-D1"),
    Audited(f"{_PRINTED}.known_domain:ClassSizes", "[SL] Algorithm 1, γ < 1", remark="E-D4"),
    Audited(f"{_PRINTED}.known_domain:UnscaledTop", "[SL] Algorithm 1, γ = 1", remark="E-D5"),
    Audited(f"{_PRINTED}.known_domain:DecreasingInverse", "[SL] printed inverses", remark="E-D6"),
)
