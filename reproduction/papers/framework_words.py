"""The words of the page of [FW]."""

from __future__ import annotations

INTRODUCTION = """# [FW]: RestrictedGumbel, LimitDomain and their rivals

Carvalho & Wang compare RestrictedGumbel (RG) with LimitDomain (LD) at δ = 1/(2n), ε from 0.01 to 1, k in {10, 50,
100} and k_bar in {k, 10k, 50k}. 2,268 points of their figures were read out of the vector drawings; each is a mean of
100 trials. Here every cell is a mean of 400.

- **RG, published** and **LD, published** have the paper's accountant (Equation 12, scanned in steps of 0.0001:
  E-C11), its splits and its thresholds (E-C5), run by our mechanisms.
- **RestrictedGumbel** is ours at the same total (ε, δ) and the same k_bar: the one-sided test (P5.3), a split that
  does not look at the data, the certified optimal accountant.
- **auto** is what `mechanism="auto"` takes in one pass over counts (`passes=1`; the files hold no users), with the
  k_bar it chooses.
"""

AGREEMENT = """## Figures 4 and 5, and how well they are met

Foursquare is the paper's own data, put together again: users of Tokyo are inferred (52 of 2,293 are merged into others,
about two per cent), so counts are estimates, for the most part a little too low. A point is *met by Monte-Carlo error
alone* when it lies within four standard errors of the difference, and *met* when the spread over counts moved at random
by two per cent is counted as well. One point of 756 is not met: at ε = 0.01 one of their 100 trials named an item, and
none of ours did. Yelp tips and Gowalla are synthetic stand-ins: their rows say how close the stand-in comes, and **are
no reproduction**.
"""

OURS = """## What is gained

Items returned, the best of the three k_bar for the first three columns; `auto` has one k_bar of its own. Where RG as
published names more than one item, `auto` names at k = 50 between 1.0 and 4.6 times as many (half of the cells: 1.25
or more), at k = 100 between 1.0 and 4.3 times (half of them: 2.2 or more). For k = 10 `auto` takes `OrderedStaircase`,
the largest set that stands and then its order: between 1.0 and 2.2 times as many, and never fewer.
"""

RIVALS = """## TS

TS (private, P6.1, k_bar = k) beside RG and LD with k_bar = 10k.
"""

BOUNDED = """## Users of at most eight items

LimitDomain-Laplace (LL) and RestrictedNormal (RN) as published: LL with (e^{Δε} + 1) in its δ (E-A3), RN charged √Δ
too much (E-C6) and ε_R = 4ε/Δ (E-C9). `auto` takes `LimitedDomainGauss` (P4.2): no test to pay for, and no k in its
cost.
"""

EXTRA = """## Figure 7: the price of a large public list

The exponential mechanism (peeling) over a public list of all items, with 10^8 to 10^10 more items of count 1;
multiplicities make them cheap. `auto` without a list does not see them. `auto, public list` (over the list without
additions) is what `auto` takes when the list is public: peeling, whose steps our accountants compose.
"""
