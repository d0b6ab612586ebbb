"""Artificial data for the examples of the documentation; they describe no real person, so they need no protection.

cl.examples.shop()       checkins.parquet, sales.parquet and shop.duckdb in a folder
cl.examples.library()    loans.csv, the loans of a library
"""

from __future__ import annotations

import os
from pathlib import Path


def shop(folder: str | os.PathLike[str] = ".") -> Path:
    """Write the data of a shop into a folder, the same every time, and return the folder.

    `checkins.parquet` has the columns user, venue, city and day. `sales.parquet`, and the table `sales` of the database
    `shop.duckdb`, have customer_id, sku, category, brand, country, day, price and quantity. The database also has the
    tables `products` (sku, name, category, brand) and `customers` (customer_id, country). Files of these names are
    replaced.
    """
    from crestline.examples.shop_data import write_shop

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_shop(place)
    return place


def library(folder: str | os.PathLike[str] = ".") -> Path:
    """Write `loans.csv` (reader, title) into a folder, the same every time, and return its path."""
    from crestline.examples.library_data import write_loans

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_loans(place / "loans.csv")
    return place / "loans.csv"
