"""The first tables, and the triggers that keep them as they were written.

Until the first release the tables are those that the store declares; at the release they are written out here.
"""

from alembic import op
from sqlalchemy import Table, UniqueConstraint

from activeeval.campaigns.store.schema import VERSION
from activeeval.campaigns.store.tables import APPEND_ONLY, metadata_with_partial_indexes

revision = VERSION
down_revision = None
branch_labels = None
depends_on = None

POSTGRESQL_REFUSAL = """
CREATE FUNCTION activeeval_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$
"""


def upgrade() -> None:
    metadata_with_partial_indexes().create_all(op.get_bind(), checkfirst=False)
    if op.get_bind().dialect.name == "postgresql":
        _postgresql_triggers()
    else:
        _sqlite_triggers()


def _sqlite_triggers() -> None:
    for table in APPEND_ONLY:
        name = table.name
        refuse = f"BEGIN SELECT RAISE(ABORT, '{name} is append-only'); END"
        for verb in ("UPDATE", "DELETE"):
            op.execute(f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} {refuse}")
        same = (" AND ".join(f"{c} = NEW.{c}" for c in key) for key in _keys(table))
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {name} WHERE {condition})" for condition in same)
        op.execute(f"CREATE TRIGGER {name}_no_replace BEFORE INSERT ON {name} WHEN {there} {refuse}")


def _keys(table: Table) -> list[list[str]]:
    """List the columns by which a row is known: SQLite's REPLACE deletes without asking a trigger."""
    unique = [each for each in table.constraints if isinstance(each, UniqueConstraint)]
    keys = [table.primary_key, *sorted(unique, key=lambda each: str(each.name))]
    return [[column.name for column in key.columns] for key in keys]


def _postgresql_triggers() -> None:
    op.execute(POSTGRESQL_REFUSAL)
    call = "EXECUTE FUNCTION activeeval_append_only()"
    for table in APPEND_ONLY:
        name = table.name
        op.execute(f"CREATE TRIGGER {name}_no_change BEFORE UPDATE OR DELETE ON {name} FOR EACH ROW {call}")
        op.execute(f"CREATE TRIGGER {name}_no_truncate BEFORE TRUNCATE ON {name} FOR EACH STATEMENT {call}")
