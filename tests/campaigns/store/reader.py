"""A process that reads campaigns as a user without rights, and says in a line of JSON what came of each.

``python reader.py URL …`` is started as root and goes on as nobody.
"""

import json
import os
import pwd
import sys

from store_cases import make_campaign, work_off

from activeeval.campaigns.store import open_store
from activeeval.core.errors import ActiveEvalError


def main(*urls):
    with open_store("sqlite://", create=True) as store:  # nobody may not read what would be imported later
        make_campaign(store)
        work_off(store, "ann")
        said_by(store)
    user = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)
    for url in urls:
        try:
            with open_store(url) as store:
                print(json.dumps(said_by(store)))
        except ActiveEvalError as error:
            print(json.dumps({"error": str(error)}))


def said_by(store):
    said = {"campaigns": store.campaigns(), "problems": store.verify("night"), "last": store.last_seq("night")}
    try:
        store.claim("night", "bob")
    except ActiveEvalError as error:
        said["refused"] = str(error)
    return said


if __name__ == "__main__":
    main(*sys.argv[1:])
