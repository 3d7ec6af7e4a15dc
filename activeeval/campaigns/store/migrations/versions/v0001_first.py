"""First migration: create the tables, and the triggers that make them append-only."""

import sqlalchemy as sa
from alembic import op

from activeeval.campaigns.store.schema import VERSION

revision = VERSION
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEYS: dict[str, list[str]] = {
    "campaign": ["id", "name"],
    "sample": ["campaign_id, version"],
    "query": ["campaign_id, query_id"],
    "document": ["digest"],
    "unit": ["campaign_id, number"],
    "place": ["campaign_id, unit, position", "campaign_id, unit, doc_id"],
    "event": ["campaign_id, seq", "campaign_id, key", "campaign_id, supersedes"],
    "judge": ["campaign_id, name"],
    "watch": ["id", "name"],
    "night": ["watch_id, date", "campaign_id"],
}
"""Key of each append-only table, for triggers against REPLACE: SQLite deletes its old row without firing triggers."""

POSTGRESQL_REFUSAL = """
CREATE FUNCTION activeeval_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$
"""


def upgrade() -> None:
    """Create all tables, then the triggers that make most of them append-only."""
    _campaigns()
    _units()
    _work()
    _log()
    _people()
    _nights()
    if op.get_bind().dialect.name == "postgresql":
        _postgresql_triggers()
    else:
        _sqlite_triggers()


def _campaigns() -> None:
    """Create the tables of campaigns, versions of their samples, and judges.

    ``config`` is JSON, ``lease_s`` are seconds, ``created_at`` is in UTC microseconds. ``payload`` is the encoded
    sample, ``digest`` its id, and ``seq`` the number of the last event before it was stored.
    """
    op.create_table(
        "campaign",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("judges_per_item", sa.Integer(), nullable=False),
        sa.Column("lease_s", sa.Integer(), nullable=False),
        sa.Column("max_grade", sa.Integer()),
        sa.Column("strict_order", sa.Boolean(), nullable=False),
        sa.Column("adjudicate", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_campaign"),
        sa.UniqueConstraint("name", name="uq_campaign_name"),
    )
    op.create_table(
        "sample",
        _campaign_id(),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "version", name="pk_sample"),
        _of_campaign("sample"),
    )
    op.create_table(
        "judge",
        _campaign_id(),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "name", name="pk_judge"),
        _of_campaign("judge"),
    )


def _units() -> None:
    """Create the tables of queries, document texts, units (items judged together) and their places (documents).

    ``content`` are a document's texts as JSON, and ``digest`` identifies them. A unit's ``level`` is its position in
    the judging order, ``block`` the part of the sample, ``cost`` in mean items. A place's ``position`` is its index in
    the unit, ``probability`` that of being drawn.
    """
    op.create_table(
        "query",
        _campaign_id(),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "query_id", name="pk_query"),
        _of_campaign("query"),
    )
    op.create_table(
        "document",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_document"),
    )
    op.create_table(
        "unit",
        _campaign_id(),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("level", sa.Double()),
        sa.Column("cost", sa.Double(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "number", name="pk_unit"),
        _of_campaign("unit"),
        _reference("unit", "query", "campaign_id, query_id", "campaign_id, query_id"),
        _reference("unit", "sample", "campaign_id, version", "campaign_id, version"),
    )
    op.create_table(
        "place",
        _campaign_id(),
        sa.Column("unit", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "unit", "position", name="pk_place"),
        sa.UniqueConstraint("campaign_id", "unit", "doc_id", name="uq_place_campaign_id_unit_doc_id"),
        _of_campaign("place"),
        _reference("place", "document", "document", "digest"),
        _reference("place", "unit", "campaign_id, unit", "campaign_id, number"),
    )
    op.create_index("ix_place_campaign_id_doc_id", "place", ["campaign_id", "doc_id"])


def _work() -> None:
    """Create the table of assignments (judgments that items need), with their current holders.

    ``block``, ``unit`` and ``position`` locate the item, ``k`` numbers its judgments. ``judge`` holds it until
    ``lease_until`` (UTC microseconds); ``token_hash`` is the digest of the claim's token.
    """
    op.create_table(
        "assignment",
        sa.Column("id", ID, nullable=False),
        _campaign_id(),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("unit", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("k", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text()),
        sa.Column("token_hash", sa.Text()),
        sa.Column("lease_until", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_assignment"),
        sa.UniqueConstraint("campaign_id", "unit", "position", "k", name="uq_assignment_campaign_id_unit_position_k"),
        sa.UniqueConstraint(
            "campaign_id", "unit", "position", "judge", name="uq_assignment_campaign_id_unit_position_judge"
        ),
        sa.UniqueConstraint("token_hash", name="uq_assignment_token_hash"),
        sa.CheckConstraint("state IN ('free', 'leased', 'checked_out', 'done')", name="ck_assignment_state"),
        _of_campaign("assignment"),
        _reference("assignment", "place", "campaign_id, unit, position", "campaign_id, unit, position"),
    )
    _index("ix_assignment_open", "assignment", ["campaign_id", "block", "unit", "position", "k"], "state <> 'done'")
    _index("uq_assignment_lease", "assignment", ["campaign_id", "judge"], "state = 'leased'", unique=True)


def _log() -> None:
    """Create the table of events, the log of each campaign.

    ``seq`` is the event's number, ``at`` its time (UTC microseconds), ``body`` further content as JSON, ``supersedes``
    the number of the event that it replaces, ``key`` makes repeated requests harmless, ``digest`` covers the log.
    """
    whole = ["shown_at", "active_ms", "idle_ms", "supersedes"]
    op.create_table(
        "event",
        _campaign_id(),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("judge", "query_id", "doc_id")),
        *(sa.Column(name, sa.Integer()) for name in ("unit", "k", "grade")),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("reason", "body")),
        *(sa.Column(name, sa.BigInteger()) for name in whole),
        sa.Column("key", sa.Text()),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "seq", name="pk_event"),
        sa.UniqueConstraint("campaign_id", "key", name="uq_event_campaign_id_key"),
        sa.UniqueConstraint("campaign_id", "supersedes", name="uq_event_campaign_id_supersedes"),
        _of_campaign("event"),
    )
    op.create_index("ix_event_campaign_id_judge_seq", "event", ["campaign_id", "judge", "seq"])
    op.create_index("ix_event_campaign_id_unit_doc_id", "event", ["campaign_id", "unit", "doc_id"])
    _index("ix_event_deferred", "event", ["campaign_id", "judge", "unit", "doc_id", "seq"], "kind = 'deferred'")


def _people() -> None:
    """Create the tables for access: credentials, failed password attempts, and sign-ins started at another site.

    ``digest`` is that of a secret, or of an account or address. Columns that end in ``_at`` or ``_until`` are times in
    UTC microseconds.
    """
    op.create_table(
        "credential",
        sa.Column("id", ID, nullable=False),
        _campaign_id(),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("kind", "role", "scope", "person", "digest")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("created_at", "seen_at", "expires_at")),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_credential"),
        sa.UniqueConstraint("digest", name="uq_credential_digest"),
        sa.CheckConstraint("kind IN ('invite', 'session', 'token', 'password', 'member')", name="ck_credential_kind"),
        sa.CheckConstraint("scope IN ('all', 'status')", name="ck_credential_scope"),
        _of_campaign("credential"),
    )
    op.create_table(
        "sign_in_try",
        _campaign_id(),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("kind", "digest")),
        sa.Column("n_failed", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("last_at", "waits_until")),
        sa.PrimaryKeyConstraint("campaign_id", "kind", "digest", name="pk_sign_in_try"),
        sa.CheckConstraint("kind IN ('account', 'address')", name="ck_sign_in_try_kind"),
        _of_campaign("sign_in_try"),
    )
    op.create_table(
        "sign_in_start",
        _campaign_id(),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "digest", name="pk_sign_in_start"),
        _of_campaign("sign_in_start"),
    )


def _nights() -> None:
    """Create the tables of watches (an index followed over many dates) and of their nights (runs of a date).

    ``config`` is JSON; ``payload`` is a watch's fixed run, or a night's run with the state for the next one.
    """
    op.create_table(
        "watch",
        sa.Column("id", ID, nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("name", "config")),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_watch"),
        sa.UniqueConstraint("name", name="uq_watch_name"),
    )
    op.create_table(
        "night",
        sa.Column("watch_id", ID, nullable=False),
        sa.Column("date", sa.Text(), nullable=False),
        _campaign_id(),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", "date", name="pk_night"),
        sa.UniqueConstraint("campaign_id", name="uq_night_campaign_id"),
        _reference("night", "watch", "watch_id", "id"),
        _of_campaign("night"),
    )


def _campaign_id() -> sa.Column[int]:
    """Build the column with the id of a row's campaign."""
    return sa.Column("campaign_id", ID, nullable=False)


def _of_campaign(table: str) -> sa.ForeignKeyConstraint:
    """Build the foreign key of a table to its campaign."""
    return _reference(table, "campaign", "campaign_id", "id")


def _reference(table: str, other: str, columns: str, others: str) -> sa.ForeignKeyConstraint:
    """Build a foreign key from the columns of one table to those of another; names are separated by ", "."""
    referred = [f"{other}.{column}" for column in others.split(", ")]
    return sa.ForeignKeyConstraint(columns.split(", "), referred, name=f"fk_{table}_{other}")


def _index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    """Create a partial index: one over the rows that meet a condition (``where``), given in SQL."""
    condition = sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def _sqlite_triggers() -> None:
    """Create the triggers that refuse UPDATE, DELETE and REPLACE in SQLite."""
    for table, keys in KEYS.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for verb in ("UPDATE", "DELETE"):
            op.execute(f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} {refuse}")
        # REPLACE deletes the old row without firing the trigger on DELETE: refuse a row with the key of another
        same = (" AND ".join(f"{c} = NEW.{c}" for c in key.split(", ")) for key in keys)
        there = " OR ".join(f"EXISTS (SELECT 1 FROM {table} WHERE {condition})" for condition in same)
        op.execute(f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} WHEN {there} {refuse}")


def _postgresql_triggers() -> None:
    """Create the triggers that refuse UPDATE, DELETE and TRUNCATE in PostgreSQL."""
    op.execute(POSTGRESQL_REFUSAL)
    call = "EXECUTE FUNCTION activeeval_append_only()"
    for table in KEYS:
        op.execute(f"CREATE TRIGGER {table}_no_change BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW {call}")
        op.execute(f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {call}")
