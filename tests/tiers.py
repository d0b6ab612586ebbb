"""The tiers of the tests, by what a test is. What is in none of them is the default tier: `scripts/check --quick`.

statistics   draws many times, and holds what was drawn against a law; or attacks a mechanism, or a whole source
engines      needs a server, a browser or a process beside this one, or asks the same of another engine once more
mechanics    tests how something is done, or what stands beside the package: tools, experiments, the probes of a search
long         takes more than 0.3 s by its nature: a page's examples, a forecast that simulates, a search for a total

A single test says its tier itself, with a mark of that name; a folder, a file or a kind of tests has it here.
"""

from __future__ import annotations

import re

_STATISTICS = re.compile(
    r"follows?_(the|its|their)_law|have_the_law|has_power|utility|equally_likely|on_all_small_neighbours"
    r"|^tests/(audit/|sources/(test_pairs|files/test_lines)|ledger/test_machine|web/api/test_openapi)"
)
_ENGINES = re.compile(
    r"^tests/sources/(test_(embedded|sqlite|mariadb|clickhouse|datafusion|spark|postgres)|files/test_(remote|s3)|lakes/)"
    r"|^tests/web/(pages/browser/|test_(processes|refusals|reload|shutdown|warehouse))|\[postgres\b"
    r"|^tests/(test_newcomer|cli/test_(completion|waiting)|docs/test_service_pages|ledger/(test_(killed|crowd)|storage/test_faults))"
)
_MECHANICS = re.compile(r"^tests/(tools|benchmarks|reproduction)/|^tests/(guarantees/test_search|docs/test_site)")
_SERVERS = {"mariadb_url", "postgres_url", "postgres_database"}
# What is costly to start and serves several files: Spark, a browser, a service, a site, an environment, measurements.
_STARTED_ONCE = re.compile(
    r"^tests/(sources/test_(mariadb|spark)|web/pages/browser|docs/test_(service_pages|site)|test_newcomer|benchmarks/test_main)\b"
)


def tier(name: str, fixtures: set[str]) -> str | None:
    """The tier of a test, by its full name and the fixtures it uses; None for the default one."""
    if _ENGINES.search(name) or fixtures & _SERVERS:
        return "engines"
    if _MECHANICS.search(name):
        return "mechanics"
    return "statistics" if _STATISTICS.search(name) else None


# Files whose tests are long and share nothing: workers divide them among themselves.
_APART = re.compile(
    r"^tests/(audit|reproduction|tools)/|^tests/(sources/(test_pairs|files/test_lines)|ledger/test_(crowd|killed|machine))"
    r"|^tests/(cli/test_audit|mechanisms/(routes/test_routed|observed/)|web/(test_processes|api/test_openapi))"
)


def together(name: str) -> str:
    """What one worker runs as a whole: all tests that share something costly, by its name, or the tests of a file, so
    that its fixtures and caches are made once; of long ones each by itself."""
    shared = _STARTED_ONCE.match(name)
    if shared:
        return shared.group()
    return name if _APART.match(name) else name.partition("::")[0]
