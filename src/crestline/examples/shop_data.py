"""The data of an invented shop and of check-ins at venues, as Parquet files and as a DuckDB database."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow
    from numpy.typing import NDArray

PEOPLE = 8_000  # users of the check-ins
CUSTOMERS = 6_000
_SEED = 2026  # not a release, so the generator need not be secure
_FIRST_DAY = date(2025, 10, 1)
_DAYS = 210
_COUNTRIES = ("DE", "FR", "AT", "PL", "CH")
_CITIES = ("Ahlen", "Brunn", "Calw")
_PLACES = (
    "Central Station", "Harbour Bath", "Old Market", "City Library", "West Park", "Opera", "Night Market",
    "University", "Botanic Garden", "Tram Museum", "North Beach", "Town Hall", "Film House", "Climbing Hall",
    "Farmers' Market", "Observatory", "Ice Rink", "Science Centre", "Ferry Pier", "Castle Hill",
)  # fmt: skip
_CATEGORIES = ("tea", "coffee", "bread", "fruit", "cheese")
_BRANDS = ("Alm", "Borea", "Cardo", "Delta")
_KINDS = ("small", "large", "organic")


def write_shop(folder: Path) -> None:
    """Write checkins.parquet, sales.parquet and shop.duckdb; existing files are replaced."""
    import duckdb
    import numpy as np
    from pyarrow import parquet

    generator = np.random.default_rng(_SEED)
    parquet.write_table(_checkins_table(generator), folder / "checkins.parquet")
    tables = _sales_tables(generator)
    parquet.write_table(tables["sales"], folder / "sales.parquet")
    path = folder / "shop.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        for name, table in tables.items():
            database.from_arrow(table).create(name)


def _checkins_table(generator: np.random.Generator) -> pyarrow.Table:
    """Check-ins at sixty venues, a few of them popular; four for each person on average."""
    import pyarrow

    venues = [f"{place}, {city}" for place in _PLACES for city in _CITIES]
    user, venue = _draw_picks(generator, PEOPLE, len(venues), 4.0)
    names = [venues[one] for one in venue]
    return pyarrow.table(
        {
            "user": user,
            "venue": names,
            "city": [name.rpartition(", ")[2] for name in names],
            "day": _draw_days(generator, len(user)),
        }
    )


def _sales_tables(generator: np.random.Generator) -> dict[str, pyarrow.Table]:
    """Tables of sales, products and customers."""
    import numpy as np
    import pyarrow

    kinds = [(category, brand, kind) for kind in _KINDS for category in _CATEGORIES for brand in _BRANDS]
    skus = [f"sku {number:03}" for number in range(1, len(kinds) + 1)]
    customer, product = _draw_picks(generator, CUSTOMERS, len(skus), 3.0)
    home = generator.choice(len(_COUNTRIES), size=CUSTOMERS, p=[0.5, 0.2, 0.1, 0.1, 0.1])
    prices = np.round(generator.uniform(1, 40, size=len(skus)), 2)
    sales = {
        "customer_id": customer,
        "sku": [skus[one] for one in product],
        "category": [kinds[one][0] for one in product],
        "brand": [kinds[one][1] for one in product],
        "country": [_COUNTRIES[one] for one in home[customer]],
        "day": _draw_days(generator, len(customer)),
        "price": prices[product],
        "quantity": generator.integers(1, 4, size=len(customer)),
    }
    products = {
        "sku": skus,
        "name": [f"{brand} {kind} {category}" for category, brand, kind in kinds],
        "category": [category for category, _, _ in kinds],
        "brand": [brand for _, brand, _ in kinds],
    }
    customers = {"customer_id": np.arange(CUSTOMERS), "country": [_COUNTRIES[one] for one in home]}
    return {
        "sales": pyarrow.table(sales),
        "products": pyarrow.table(products),
        "customers": pyarrow.table(customers),
    }


def _draw_picks(
    generator: np.random.Generator, people: int, things: int, each: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A person and a thing for each row, with `each` rows a person on average and at least one."""
    import numpy as np

    many = 1 + generator.poisson(each - 1, size=people)
    weights = 1.0 / np.arange(1, things + 1) ** 0.9
    who = np.repeat(np.arange(people), many)
    return who, generator.choice(things, size=len(who), p=weights / weights.sum())


def _draw_days(generator: np.random.Generator, rows: int) -> list[date]:
    """A random day for each row."""
    return [_FIRST_DAY + timedelta(days=int(day)) for day in generator.integers(0, _DAYS, size=rows)]
