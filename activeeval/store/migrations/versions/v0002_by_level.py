"""Campaigns that go strictly by level; those of before do not."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("campaign", sa.Column("by_level", sa.Boolean(), nullable=False, server_default=sa.false()))
