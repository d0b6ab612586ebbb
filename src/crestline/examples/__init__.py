"""Example data of the documentation, generated on the spot; no real person is in them.

cl.examples.shop()       checkins.parquet, sales.parquet and shop.duckdb in a folder
cl.examples.library()    loans.csv, the loans of a library
"""

from __future__ import annotations

import os
from pathlib import Path


def shop(folder: str | os.PathLike[str] = ".") -> Path:
    """Write the data of an invented shop into a folder; the data are the same every time.

    `checkins.parquet` has the columns user, venue, city and day. `sales.parquet`, and the table `sales` of the database
    `shop.duckdb`, have customer_id, sku, category, brand, country, day, price and quantity. The database also has the
    tables `products` (sku, name, category, brand) and `customers` (customer_id, country). Files of these names are
    replaced.

    Args:
        folder: Folder to write to; it is created if it does not exist.

    Returns:
        The folder.
    """
    from crestline.examples.shop_data import write_shop

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_shop(place)
    return place


def library(folder: str | os.PathLike[str] = ".") -> Path:
    """Write `loans.csv`, with the columns reader and title, into a folder; the data are the same every time.

    Args:
        folder: Folder to write to; it is created if it does not exist.

    Returns:
        Path of the file.
    """
    from crestline.examples.library_data import write_loans

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    write_loans(place / "loans.csv")
    return place / "loans.csv"
