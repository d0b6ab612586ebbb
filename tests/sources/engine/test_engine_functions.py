"""What is said of engines that were never run."""

from __future__ import annotations

import ibis
import pytest

from crestline.errors import QuestionError
from crestline.sources.engine.engine_functions import codec_or_refuse, md5


def test_mysql_is_not_taken_for_mariadb() -> None:
    with pytest.raises(QuestionError, match="this server is MySQL, which was never run here, and not MariaDB"):
        codec_or_refuse("mysql")
    with pytest.raises(QuestionError, match="this server is MySQL, which was never run here, and not MariaDB"):
        md5(ibis.literal("a"), 8, "mysql")
    with pytest.raises(QuestionError, match=r"^on oracle a collation decides"):
        codec_or_refuse("oracle")
