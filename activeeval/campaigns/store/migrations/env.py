"""Run the migrations on a connection whose transaction belongs to the caller."""

from alembic import context

from activeeval.campaigns.store.schema import VERSION_TABLE
from activeeval.campaigns.store.tables import metadata_with_partial_indexes

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata_with_partial_indexes(),
    version_table=VERSION_TABLE,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
