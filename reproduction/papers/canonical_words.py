"""What the page of [SL] says."""

WORDS = """# [SL] figures 1 to 10 and section 7.1: k items of a public list

Every number here is an exact probability: nothing is simulated, and there is no Monte-Carlo error. TOP is the exact
top k; GREAT keeps the best k/10 and reaches no further than rank 1.1 k; GOOD keeps the best k/100 and reaches no
further than rank 1.5 k. Ranks of equal counts follow the order of the data, and ties are counted strictly, as the
authors' code does: where ranks k and k + 1 are tied, no ε makes TOP more likely than one half.

The data are the authors' own arrays. `peeling` is the exponential mechanism applied k times, which is one-shot Gumbel
noise; the authors' peeling with fresh noise of other laws is not in their figures, and not here. Errata E-D1 to E-D13
are corrected in our mechanisms; the authors' code already computes the corrected classes, so they explain no
difference.
"""

NEEDED_WORDS = """## Section 7.1: how much ε the exact top k takes

A dash means that ranks k and k + 1 are tied (or that the cell has not been run). `auto` is what crestline chooses
for a set from a public list at (ε, 1e-6): a look at the counts, which is paid for, and then the canonical mechanism
with γ = 2/3 and exponential noise, or peeling, whose k steps our accountants compose (P20). Its ε is found to two
digits. It may need more ε than a canonical mechanism alone, because the look takes a part, and because peeling is taken
while the best k do not stand out clearly; in exchange nothing is lost where they do not.
"""

RATIO_WORDS = """### The ratios on NETFLIX

**Published.** Up to 6×, 34× and 81× more ε for peeling or one-shot noise than for the canonical mechanism, at k = 10,
100 and 1000.

**Here.** The printed numbers come out again, but they are not the ratios. The authors' script marks the ε at which
two curves reach 99.9 %, moves both ends of the arrow inwards by 1 % of its length so that it does not touch the
curves, and then prints the ratio *of the moved ends*. On a linear scale 1 % of the right end is as much as the left
end itself: at k = 1000 the canonical mechanism needs ε = 0.95, and the arrow starts at 5.1. Done the same way, the
exact curves give 6.4, 34.9 and 80.7; printed are 6, 34 and 81, rounded down from curves of 10,000 simulations a
point. The true ratios against the canonical mechanism with γ = 1/2 are in the other columns: at k = 1000 the paper
understates its own result more than fivefold.
"""

CURVES_WORDS = """## Figures 1 to 9: the chance of a good selection against ε

**Published.** Curves without printed numbers. **Here** the same curves, computed. On NETFLIX the canonical
mechanism is ahead of peeling and of every one-shot noise, the more so the larger k is; among the noises exponential
is best and logistic worst. γ = 1 minds only the lowest count it returns: for TOP at k = 10 it is a little ahead of
γ = 1/2 (ε = 0.0033 instead of 0.0048), at k = 1000 it is behind.

**Ours.** `auto` looks, and pays for it: where the best k stand out it takes the canonical mechanism, and where they
do not, peeling composed at δ = 1e-6, which [SL] did not have (GOOD on NETFLIX at k = 100 and ε = 0.01: 0.82 against
none, for the price of a whole set is the logarithm of the number of sets).

**Where ours is not best.** Two kinds of cells are left. Where a canonical mechanism just begins to work, a set that has
a few per cent less ε, for the look, is right a little less often: differences of some hundredths. And within a factor
of about 1.3 of that ε the coin may fall on either side. There it can be off by more than a tenth: PATENT, k = 100,
ε = 0.1 (the canonical mechanism fails, and is taken in half of the cases), HEPTH, k = 10, ε = 0.18 (nothing works well)
and MEDCOST, k = 100, ε = 18 (it works, and is not always taken). No rule can know: to tell whether the canonical
mechanism will succeed is to look at the counts, a look is worth only what is paid for it, and the cells on the two
sides differ by less than a look at 4% of ε can see. A larger share for the look takes from the sets what it gives to
the choice ([measured](../decisions/public-lists.md)).

Each entry is TOP / GREAT / GOOD at ε = 1; a dash is a cell that has not been run.
"""

ZIPF_WORDS = """## Figure 10: Zipf's law

10,000 items, 15^7 users' worth of counts in all, ε = 1, the exponent s from 0 (all counts equal) to 1. The counts are
not whole; they are held in parts of 2^-20 of a user, so nothing is rounded that could be seen.
"""
