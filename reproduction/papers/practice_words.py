"""What the page on real users and items says."""

WORDS = """# Real users and items: what a practitioner would otherwise use

Thresholded noisy counts are what OpenDP and PipelineDP offer when the items are not known beforehand. Both need a
bound on how many items one user counts for: whatever a user has beyond it is dropped (here: a uniform sample is
kept). A low bound loses the truth, a high one needs more noise, and the best one cannot be known without looking.
Everything is run at the same total (ε, δ = 1e-6):

- OpenDP: `make_laplace_threshold` and `make_gaussian_threshold`, with the least scale and threshold its own privacy
  map allows; the k largest released counts. Run through the library itself.
- PipelineDP: `DPEngine.aggregate` with COUNT and private partition selection, its own division of the budget; Laplace
  noise up to a bound of 5, Gaussian above; bounds enforced beforehand, and told so. Run through the library itself.
- Missing mass: weighted Gaussian domain discovery, then peeling over what was discovered (Dick, Joseph and Raman, ICLR
  2026, arXiv:2603.14016), rebuilt by us from its description (`reproduction/peers/missing_mass.py`). Its own paper
  gives half of the budget to each step; here the best of three shares (1/4, 1/2, 3/4) is shown, beside the best bound.
- crestline: `Sieve`, and what `auto` chooses, without any bound on the users; `auto` with the same bound.

Published: nothing; these are our runs. PipelineDP draws its noise from the system, so its numbers differ a little
from run to run.
"""

TABLE_WORDS = """## The share of the true top k

For the others, and for `auto` with a bound, the best over all bounds, with that bound in brackets: a choice nobody
can make without looking at the answers. `Sieve`, and `auto` without a bound, have nothing to choose; they are 20 runs
on pairs kept in memory. *At least as much* means: as everybody at each of their settings, within two standard errors.
Cells in which everybody finds nearly all, or nearly nothing, cannot be won.
With a bound `auto` takes `Observed`: thresholds over every item that somebody has, with an exact δ. At no bound is it
worse than a library at the same bound.
"""

OTHERS_WORDS = """## On other data

The constants of the sieve were first set with the data above in view. They were tried again on these nine data sets, on
which nothing had been tuned, in a simulation of the same steps in doubles: 10 runs of every cell below, or 4 without
GOWALLA_10CORE, with the same random numbers for every candidate. One was changed because of it: at least the 2k
heaviest buckets are kept in a round, no longer the 4k heaviest (mean share +0.003 ± 0.001). These were confirmed, none
of the alternatives being better by more than twice its standard error: buckets are kept from two standard deviations
below the k-th load on (one: −0.057, three: −0.054), two rounds where much would stay below the threshold (always one:
−0.020, three: −0.012), 2^14 buckets (2^12: −0.006 ± 0.005, 2^16: 0.000 ± 0.005), a quarter of μ² for the rounds (0.15:
−0.017 ± 0.003; 0.35: +0.003 ± 0.002; 0.45 with the new cut: −0.003 ± 0.003), two fifths of δ for new items (a fifth:
−0.001 ± 0.002, three fifths: −0.005 ± 0.003), no sieve from a mean weight of 0.5 on (0.35: −0.004, 0.7: +0.002 ±
0.001), the cap that 2% of the users exceed (10%: −0.005 ± 0.001), the prices of noise and bias in the forecast (twice:
−0.002 and −0.007). A step that ranks what was discovered once more, with a quarter of μ², loses 0.018 ± 0.003: what it
takes from the threshold is worth more. The table is made with the constants chosen on these very data, so for one
constant of eleven it is not a test.
"""

FILES_WORDS = """## Through files

`cl.top_k(file, k=…, epsilon=…, delta=…)` on the Parquet file itself, 20 runs, beside the same question on pairs in
memory, which the tables above are made with because that is quicker.
"""

CHOICE_WORDS = """## Does `auto` choose well?

Every mechanism for an unknown domain and unbounded users, each with its own default number of slots, beside what `auto`
returns.
"""
