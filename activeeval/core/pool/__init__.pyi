from activeeval.core.pool.draws import QueryDraw as QueryDraw, QueryLog as QueryLog
from activeeval.core.pool.grades import PoolGrades as PoolGrades, check_judged as check_judged
from activeeval.core.pool.id_checks import whole_grades as whole_grades
from activeeval.core.pool.identity import (
    Seed as Seed,
    checked_key as checked_key,
    hashed_uniforms as hashed_uniforms,
    key_of as key_of,
    known_digest as known_digest,
    pool_hashes as pool_hashes,
    text_numbers as text_numbers,
)
from activeeval.core.pool.queries import QueryPool as QueryPool
from activeeval.core.pool.rankings import Rankings as Rankings
