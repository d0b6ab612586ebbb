"""What an engine cannot do, as tests that must fail: one that passes after all fails the run, and its line must go.

A reason stands with the tests that show it, by name, with the parameters in brackets where only some of them fail.
`crestline sources` prints the reasons (`scripts/engines.py` writes them down).
"""

from __future__ import annotations

GAPS: dict[str, dict[str, tuple[str, ...]]] = {
    "duckdb": {},
    "embedded": {},
    "postgres": {},
    "pyspark": {},
    "datafusion": {},
    "clickhouse": {
        "bytes are text: both are String there": (
            "test_users_of_items_of_every_type[bytes]",
            "test_groups_of_every_type[bytes]",
            "test_pairs_of_groups_and_items_of_every_type[bytes]",
            "test_ties_are_in_byte_order_and_labels_are_plain_values[bytes]",
            "test_contribution_keeps_the_items_of_smallest_hash[1-bytes]",
            "test_contribution_keeps_the_items_of_smallest_hash[3-bytes]",
        ),
        "several statements cannot read one state of a table: no Observed and no Sieve but in groups of one period": (
            "test_over_several_periods_bounds_and_weights_are_for_a_user_and_a_period",
            "test_over_several_periods_a_user_counts_once_for_a_floor",
            "test_views_of_items_of_every_type",
            "test_views_of_several_columns",
            "test_views_of_filtered_rows",
            "test_no_view_depends_on_the_order_of_rows",
            "test_views_of_columns_that_are_declared_not_null",
            "test_views_of_an_empty_table",
            "test_views_when_nothing_is_alive",
            "test_equal_numbers_share_a_bucket_however_they_are_written",
            "test_one_user_moves_each_view_by_what_the_theorems_say",
            "test_observed_items_are_read_for_a_mechanism_that_looks_at_them",
            "test_what_stands_out_is_named",
            "test_whatever_the_mechanism_looks_at[pairs]",
            "test_whatever_the_mechanism_looks_at[observed]",
            "test_an_item_weighs_the_largest_of_a_users_weights",
            "test_views_of_pairs_are_for_a_user_and_a_period",
        ),
    },
    "mariadb": {
        "there are no booleans: tinyint(1) is a whole number": (
            "test_users_of_items_of_every_type[boolean]",
            "test_groups_of_every_type[boolean]",
            "test_views_of_items_of_every_type[boolean-all pairs]",
            "test_views_of_items_of_every_type[boolean-some buckets]",
            "test_views_of_filtered_rows",
            "test_a_column_of_another_kind_is_refused",
            "test_ties_are_in_byte_order_and_labels_are_plain_values[boolean]",
            "test_contribution_keeps_the_items_of_smallest_hash[1-boolean]",
            "test_contribution_keeps_the_items_of_smallest_hash[3-boolean]",
            "test_where[yes]",
            "test_where[not yes or yes = true]",
            "test_where[yes = false or (n > 1 and (item = 'a' or item = 'z'))]",
            "test_comparisons_are_defined_for_every_value[boolean]",
            "test_where_goes_before_the_contribution_bound",
        ),
        "there are no infinite numbers": (
            "test_users_of_items_of_every_type[floating]",
            "test_groups_of_every_type[floating]",
            "test_sums_are_clipped_per_user_and_item[floats]",
            "test_sums_are_clipped_per_user_and_item[floats, none usable]",
            "test_each_function_is_defined_for_every_value[bucket of floats]",
            "test_ties_are_in_byte_order_and_labels_are_plain_values[floating]",
            "test_users_of_every_type[floating]",
            "test_comparisons_are_defined_for_every_value[float64]",
            "test_comparisons_are_defined_for_every_value[float32]",
        ),
        "timestamps lie between 1970 and 2038 (dates and datetimes do not)": (
            "test_the_rows_of_a_period_are_read_and_no_others[timestamp with zone-UTC]",
            "test_the_rows_of_a_period_are_read_and_no_others[timestamp with zone-Europe/Berlin]",
            *(
                f"test_each_function_is_defined_for_every_value[{part}(v) with a zone]"
                for part in ("year", "quarter", "month", "week", "date", "hour")
            ),
        ),
        "names of columns have no letters beyond U+FFFF": ("test_hostile_column_names",),
        "text and bytes of more than 1000 bytes are no users or items": ("test_a_label_of_a_megabyte",),
    },
    "sqlite": {
        "decimals are read as doubles": (
            "test_ties_are_in_byte_order_and_labels_are_plain_values[decimal]",
            "test_groups_of_every_type[decimal]",
            "test_users_of_items_of_every_type[decimal]",
            "test_comparisons_are_defined_for_every_value[decimal(38,0)]",
            "test_comparisons_are_defined_for_every_value[decimal(38,38)]",
        ),
    },
}


def gap(engine: str, test: str) -> str | None:
    """Why a test of an engine must fail; None when it must pass."""
    for reason, tests in GAPS[engine].items():
        if test in tests or test.partition("[")[0] in tests:
            return reason
    return None
