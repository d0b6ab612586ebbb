"""What the page on real users and items says."""

WORDS = """# Real users and items: what a practitioner would otherwise use

Thresholded noisy counts are what OpenDP and PipelineDP offer when the items are not known beforehand. Both need a
bound on how many items one user counts for: whatever a user has beyond it is dropped (here: a uniform sample is
kept). A low bound loses the truth, a high one needs more noise, and the best one cannot be known without looking.
Everything is run through the libraries themselves, at the same total (ε, δ):

- OpenDP: `make_laplace_threshold` and `make_gaussian_threshold`, with the least scale and threshold its own privacy
  map allows; the k largest released counts.
- PipelineDP: `DPEngine.aggregate` with COUNT and private partition selection, its own division of the budget; Laplace
  noise up to a bound of 5, Gaussian above; bounds enforced beforehand, and told so.
- crestline: what `auto` chooses, once without any bound on the users, once with the same bound.

Published: nothing; these are our runs. PipelineDP draws its noise from the system, so its numbers differ a little
from run to run.
"""

TABLE_WORDS = """## The share of the true top k

For the libraries, and for `auto` with a bound, the best over all bounds, with that bound in brackets: a choice nobody
can make without looking at the answers. `auto` without a bound has nothing to choose.

**Where each wins.** Small k, or users with many items: `auto` without a bound (MOVIELENS_1M throughout; k = 10 wherever
anything much can be found). A threshold on bounded counts wins where users touch few items or k is large, if the bound
is right. With a bound `auto` thresholds too, and at k = 10 returns as much as the libraries at every bound. At k = 50
and 100 OpenDP at its best bound stays ahead where many of the items are near the threshold: by 0.02 to 0.05 on
LASTFM_HETREC and YELP_REVIEWS_5CORE at ε = 1, by 0.14 on YELP at k = 100, by 0.1 on RETAIL_BASKETS at ε = 0.1. The
reason is what is read: OpenDP is given every item that occurs, so that its threshold may be a fixed number; crestline
reads the first k_bar + 1 items, and the count of the first one left out, from which it measures, has to be noisy as
well. With Gaussian noise that makes the lead that is needed larger by a third where users have five items, and by an
eighth where they have fifty.
"""

CHOICE_WORDS = """## Does `auto` choose well?

Every mechanism for an unknown domain and unbounded users, each with its own default number of slots; what `auto`
takes is bold. It looks at the question alone. It is the best of the five, or within 0.03 of the best, in all 30 cells.
"""

OTHERS_WORDS = """## On other data
"""

FILES_WORDS = """## Through files

`cl.top_k(file, k=…, epsilon=…, delta=…)` on the Parquet file itself, 20 runs, beside the same question on pairs in
memory, which the tables above are made with because that is quicker.
"""
