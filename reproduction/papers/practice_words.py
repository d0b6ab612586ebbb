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

COUNT_WORDS = """## With counts

The same question with `counts=True`, 20 answers a cell: the share of the true top k, and beside it the median relative
error of a count against the true number of users, over all items named. Counts cost crestline nothing and change no
name. OpenDP's counts are of users with at most a bound of items each: here at the bound of its best share, and its
least error at any bound at which it names half of the k items ([all cells](counts.md)).
"""

OTHERS_WORDS = """## On other data

The constants of the sieve were first set with the data above in view, and tried again on these nine data sets in a
simulation of the same steps in doubles. Rounds that use one hash and add up what they have shown, in place of one or
two rounds with a hash each, and a last step that names more than k and then ranks them by counts, were tuned on seven
of all fourteen data sets and held against the other seven: the mean share of the true top k over their 168 cells rose
from .704 to .729 (± .003), the worst cell lost .045. So for the data sets that constants were set with the table is not
a test.
"""

FILES_WORDS = """## Through files

`cl.top_k(file, k=…, epsilon=…, delta=…)` on the Parquet file itself, 20 runs, beside the same question on pairs in
memory, which the tables above are made with because that is quicker.
"""

CHOICE_WORDS = """## Does `auto` choose well?

Every mechanism for an unknown domain and unbounded users, each with its own default number of slots, beside what `auto`
returns.
"""
