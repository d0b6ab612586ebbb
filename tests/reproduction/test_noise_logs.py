from __future__ import annotations

import numpy as np
import pytest

from crestline.mechanisms.public_list.noises import NOISES
from crestline.randomness.laws import LAWS
from reproduction.noise_logs import noise_logs


@pytest.mark.parametrize("name", NOISES)
def test_logarithms_agree_with_the_law(name: str) -> None:
    law, logs, z = LAWS[name], noise_logs(name), np.linspace(-6.03, 30.03, 301)
    assert np.exp(logs.log_cdf(z)) == pytest.approx(law.cdf(z), rel=1e-12)
    assert np.exp(logs.log_survival(z)) == pytest.approx(law.survival(z), rel=1e-12)
    assert logs.hazard(z) * law.survival(z) == pytest.approx(law.density(z), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("name", NOISES)
def test_tails_reach_beyond_the_doubles(name: str) -> None:
    logs = noise_logs(name)
    assert logs.log_survival(np.array([1500.0]))[0] == pytest.approx(-1500.0, abs=1.0)
    assert logs.log_cdf(np.array([800.0]))[0] == pytest.approx(0.0, abs=1e-12)
    assert logs.hazard(np.array([-50.0, 1500.0])) == pytest.approx([0.0, 1.0], abs=1e-12)


@pytest.mark.parametrize("name", NOISES)
def test_quantiles_of_the_tails(name: str) -> None:
    logs = noise_logs(name)
    assert logs.log_cdf(np.array([logs.lowest(-46.0)]))[0] <= -46.0
    assert logs.log_survival(np.array([logs.highest(-46.0)]))[0] == pytest.approx(-46.0, abs=1e-6)
