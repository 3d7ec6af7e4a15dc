"""Tables of the store.

Only four tables change: `assignment` (current holders and leases), `credential` (access), `sign_in_try` (waits between
password attempts) and `sign_in_start` (sign-ins at another site). All others are written once; triggers created by the
migration refuse updates and deletes. Times are UTC integer microseconds; bodies are canonical JSON as text, so that
both databases return the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    and_,
    literal_column,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
# SQLite generates row ids only for the type INTEGER
_ID = BigInteger().with_variant(Integer(), "sqlite")


def _campaign(*, primary_key: bool) -> Column[int]:
    """Build the column that refers to the campaign; ``primary_key`` is True if it is part of the table's key."""
    return Column("campaign_id", _ID, ForeignKey("campaign.id"), primary_key=primary_key, nullable=False)


def _columns(kind: Any, *names: str, nullable: bool = False) -> list[Column[Any]]:
    """Build columns of one SQL type (``kind``) with these names."""
    return [Column(name, kind, nullable=nullable) for name in names]


campaign = Table(
    "campaign",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("config", Text, nullable=False),
    *_columns(Integer, "judges_per_item", "lease_s"),
    Column("max_grade", Integer),
    *_columns(Boolean, "strict_order", "adjudicate"),
    Column("created_at", BigInteger, nullable=False),
)

sample = Table(
    "sample",
    metadata,
    _campaign(primary_key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
)

query = Table(
    "query",
    metadata,
    _campaign(primary_key=True),
    Column("query_id", Text, primary_key=True),
    Column("text", Text, nullable=False),
)

document = Table(
    "document", metadata, Column("digest", Text, primary_key=True), Column("content", Text, nullable=False)
)

unit = Table(
    "unit",
    metadata,
    _campaign(primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("block", Integer, nullable=False),
    Column("query_id", Text, nullable=False),
    Column("level", Double),
    Column("cost", Double, nullable=False),
    Column("version", Integer, nullable=False),
    ForeignKeyConstraint(["campaign_id", "query_id"], ["query.campaign_id", "query.query_id"]),
    ForeignKeyConstraint(["campaign_id", "version"], ["sample.campaign_id", "sample.version"]),
)

place = Table(
    "place",
    metadata,
    _campaign(primary_key=True),
    Column("unit", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("doc_id", Text, nullable=False),
    Column("probability", Double, nullable=False),
    Column("document", Text, ForeignKey("document.digest"), nullable=False),
    ForeignKeyConstraint(["campaign_id", "unit"], ["unit.campaign_id", "unit.number"]),
    UniqueConstraint("campaign_id", "unit", "doc_id"),
    Index(None, "campaign_id", "doc_id"),
)

assignment = Table(
    "assignment",
    metadata,
    Column("id", _ID, primary_key=True),
    _campaign(primary_key=False),
    *_columns(Integer, "block", "unit", "position", "k"),
    Column("state", Text, nullable=False),
    Column("judge", Text),
    Column("token_hash", Text, unique=True),
    Column("lease_until", BigInteger),
    ForeignKeyConstraint(["campaign_id", "unit", "position"], ["place.campaign_id", "place.unit", "place.position"]),
    UniqueConstraint("campaign_id", "unit", "position", "k"),
    UniqueConstraint("campaign_id", "unit", "position", "judge"),
    CheckConstraint("state IN ('free', 'leased', 'checked_out', 'done')", name="state"),
)

event = Table(
    "event",
    metadata,
    _campaign(primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    *_columns(Text, "judge", "query_id", "doc_id"),
    *_columns(Integer, "unit", "k", "grade", nullable=True),
    *_columns(Text, "reason", "body"),
    *_columns(BigInteger, "shown_at", "active_ms", "idle_ms", "supersedes", nullable=True),
    Column("key", Text),
    Column("digest", Text, nullable=False),
    UniqueConstraint("campaign_id", "key"),
    UniqueConstraint("campaign_id", "supersedes"),
    Index(None, "campaign_id", "judge", "seq"),
    Index(None, "campaign_id", "unit", "doc_id"),
)

judge = Table(
    "judge",
    metadata,
    _campaign(primary_key=True),
    Column("name", Text, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
)

credential = Table(
    "credential",
    metadata,
    Column("id", _ID, primary_key=True),
    _campaign(primary_key=False),
    *_columns(Text, "kind", "role", "scope", "person"),
    Column("digest", Text, nullable=False, unique=True),
    *_columns(BigInteger, "created_at", "seen_at", "expires_at"),
    Column("ended_at", BigInteger),
    CheckConstraint("kind IN ('invite', 'session', 'token', 'password', 'member')", name="kind"),
    CheckConstraint("scope IN ('all', 'status')", name="scope"),
)

sign_in_try = Table(
    "sign_in_try",
    metadata,
    _campaign(primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("n_failed", Integer, nullable=False),
    *_columns(BigInteger, "last_at", "waits_until"),
    CheckConstraint("kind IN ('account', 'address')", name="kind"),
)

sign_in_start = Table(
    "sign_in_start",
    metadata,
    _campaign(primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("expires_at", BigInteger, nullable=False),
)

watch = Table(
    "watch",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("config", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

night = Table(
    "night",
    metadata,
    Column("watch_id", _ID, ForeignKey("watch.id"), primary_key=True, nullable=False),
    Column("date", Text, primary_key=True),
    Column("campaign_id", _ID, ForeignKey("campaign.id"), nullable=False, unique=True),
    Column("payload", LargeBinary, nullable=False),
)

APPEND_ONLY = (campaign, sample, query, document, unit, place, event, judge, watch, night)


def matches(left: Any, right: Any, *columns: str | tuple[str, str]) -> ColumnElement[bool]:
    """Build the condition that two tables agree in columns, each given by one name or by a (left, right) pair.

    ``left`` and ``right`` are tables or aliases.
    """
    pairs = [(column, column) if isinstance(column, str) else column for column in columns]
    return and_(*(left.c[mine] == right.c[theirs] for mine, theirs in pairs))


@cache
def metadata_with_partial_indexes() -> MetaData:
    """Add the partial indexes to the tables, for creating or comparing them.

    Reading and writing do not need them, and a condition of an index makes SQLAlchemy load the dialects of both
    databases.
    """
    # a claim reads only open assignments, in the order in which they are given out
    _index_of_some(
        "ix_assignment_open", assignment, ("campaign_id", "block", "unit", "position", "k"), where="state <> 'done'"
    )
    # no judge can hold two items at a time, even with concurrent requests
    _index_of_some(
        "uq_assignment_lease", assignment, ("campaign_id", "judge"), where="state = 'leased'", is_unique=True
    )
    _index_of_some(
        "ix_event_deferred", event, ("campaign_id", "judge", "unit", "doc_id", "seq"), where="kind = 'deferred'"
    )
    return metadata


def _index_of_some(name: str, table: Table, columns: Sequence[str], where: str, *, is_unique: bool = False) -> None:
    """Add a partial index: one over the rows that meet a condition, given in SQL."""
    condition: Any = literal_column(where)
    columns_of_table = [table.c[column] for column in columns]
    Index(name, *columns_of_table, unique=is_unique, sqlite_where=condition, postgresql_where=condition)
