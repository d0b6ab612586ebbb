"""Prices, plans and pictures as people write them: mypy reads this file; nothing runs it."""

from __future__ import annotations

from typing import assert_type

import crestline as cl
from crestline.pictures import Picture
from crestline.plan.count_models import read_shape
from crestline.plan.forecast import Simulation
from crestline.plan.plan import Plan, plan_for_shape
from crestline.price.price import Price
from crestline.question import Question


def price() -> None:
    sales = cl.connect("sales.parquet").dataset("sales", user="customer", budget=cl.Budget(epsilon=2, delta=1e-7))
    assert_type(sales.price(k=10, item="sku", epsilon="0.1", contribution=5), Price)
    assert_type(sales.price(k=10, item=["a", "b"]).fits, bool)


def picture() -> None:
    answer = cl.top_k("checkins.parquet", user="user", item="venue", k=20, epsilon=1, delta=1e-8)
    assert_type(answer.plot("top.svg"), Picture)
    assert_type(answer.plot().svg(), str)


def plan() -> None:
    shape = read_shape("power:1.1", users=1000)
    assert_type(
        plan_for_shape(
            shape,
            Question.from_fields({"k": 5, "epsilon": 1, "delta": "1e-6"}),
            Simulation(cl.entropy.system()),
            users=1000,
        ),
        Plan,
    )
