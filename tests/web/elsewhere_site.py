"""A site of the test's own that signs people in (OpenID Connect), at a port of this machine."""

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

pytest.importorskip("authlib")
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from web.conftest import Site

from activeeval.web.oidc import Oidc
from activeeval.web.provider import Provider

CLIENT, SECRET = "activeeval-here", "a secret of the client"
START = "/sign-in/elsewhere"


class Elsewhere:
    """The site; what it says of an account is changed by ``says``, and how it answers by the other attributes."""

    def __init__(self):
        self.key, self.stranger = (RSAKey.generate_key(2048, {"kid": "first"}) for _ in range(2))
        self.signs, self.header = self.key, {"alg": "RS256", "kid": "first"}
        self.says, self.grants, self.asked = {}, {}, []
        self.about, self.userinfo, self.status, self.answer = {}, {}, 200, None
        self.token_of = lambda claims: jwt.encode(self.header, claims, self.signs, algorithms=[self.header["alg"]])
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("At", (_Handler,), {"site": self}))
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def described(self):
        here = self.issuer
        parts = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        return {
            "issuer": here,
            **{f"{name}_endpoint": f"{here}/{path}" for name, path in parts.items()},
            "jwks_uri": f"{here}/keys",
            **self.about,
        }

    def authorized(self, address):
        """Return the address to which somebody is sent back who signs in at an address of this site."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = f"code-{len(self.grants)}"
        self.grants[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def tokens(self, form, authorization):
        """Return what a code is worth, once, to the client that shows its secret and the verifier."""
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization != f"Basic {basic}" and form.get("client_secret") != SECRET:
            return 401, {"error": "invalid_client"}
        asked = self.grants.pop(form.get("code"), None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).decode()
        if asked is None or asked["code_challenge"] != proof.rstrip("=") or asked["code_challenge_method"] != "S256":
            return 400, {"error": "invalid_grant"}
        if form["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "sub": "00u1", "iat": now, "exp": now + 300}
        claims |= {"nonce": asked["nonce"], "email": "zoe@example.org", "email_verified": True}
        claims = {name: value for name, value in (claims | self.says).items() if value is not None}
        return 200, {"access_token": "a token", "token_type": "Bearer", "id_token": self.token_of(claims)}


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        site, path = self.site, urlsplit(self.path).path
        site.asked.append(path)
        if path == "/authorize":
            self.send_response(302)
            self.send_header("Location", site.authorized(self.path))
            self.send_header("Content-Length", "0")
            return self.end_headers()
        pages = {"/.well-known/openid-configuration": site.described(), "/userinfo": site.userinfo}
        pages["/keys"] = {"keys": [OctKey.generate_key().as_dict(), site.key.as_dict(private=False)]}
        return self.send(site.status, pages.get(path, {}))

    def do_POST(self):
        self.site.asked.append(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        return self.send(*self.site.tokens(form, self.headers.get("Authorization")))

    def send(self, status, page):
        content = (json.dumps(page) if self.site.answer is None else self.site.answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:9/")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def known_at(elsewhere, **options):
    people = {"leads": {"zoe@example.org": "zoe"}, "judges": {"ann@example.org": "ann"}} | options
    return Oidc(issuer=elsewhere.issuer, client=CLIENT, secret=SECRET, **people)


class AtSite(Site):
    """A site whose people sign in elsewhere."""

    def __init__(self, elsewhere, door=None, **options):
        super().__init__(door=door)
        self.change(provider=Provider(known_at(elsewhere, **options)))


def went(site, browser):
    """Return the address at the other site to which somebody is sent."""
    response = browser.get(START, follow_redirects=False)
    assert response.status_code == 303
    return response.headers["location"]


def came_back(site, elsewhere, browser=None, **beside):
    """Return what is answered to somebody who signs in elsewhere and comes back."""
    browser = browser or site.browser()
    back = elsewhere.authorized(went(site, browser))
    return browser.get(back + "".join(f"&{name}={value}" for name, value in beside.items()), follow_redirects=False)


def is_refused(site, response, status=400):
    """Whether a sentence is said, and nobody has come in."""
    assert response.status_code == status, response.text
    assert 'role="alert"' in response.text
    assert not [row for row in site.store.access("week").rows() if row.kind == "session"]
    assert site.served.cookie not in response.cookies
    return True
