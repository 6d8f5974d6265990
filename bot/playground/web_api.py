"""The door of the Web API, `/api/<method>` as slack_sdk calls it, and response URLs.

Reads the arguments and looks at token and scopes. The methods themselves are in the
`methods_*` files, what a response URL does in `answers.py`, faults in `exchange.py`.
"""

import json

from aiohttp import web

from bot.playground.answers import take_return
from bot.playground.calls import Call, Refusal
from bot.playground.exchange import Exchange, Reply, parsed_fault, shown_headers
from bot.playground.methods_apps import METHODS as APPS
from bot.playground.methods_channels import METHODS as CHANNELS
from bot.playground.methods_chat import METHODS as CHAT
from bot.playground.methods_people import METHODS as PEOPLE
from bot.playground.methods_views import METHODS as VIEWS
from bot.playground.seed import Json
from bot.playground.state import REVOKED, UNINSTALLED, Workspace

METHODS = {**CHAT, **PEOPLE, **CHANNELS, **VIEWS, **APPS}
# The one method that Slack answers without a token.
OPEN_METHODS = ("api.test",)
# The names of response URLs and of the stand-in model in faults and in the log.
RETURN = "response_url"
STANDIN = "standin"


class WebApi:
    """Answers the bot's calls on behalf of Slack."""

    def __init__(self, workspace: Workspace, exchange: Exchange) -> None:
        self._workspace = workspace
        self._exchange = exchange

    def set_fault(self, method: str, fault: str, times: int | None = None) -> None:
        """Make a method fail from now on; an empty fault ends that."""
        if method not in METHODS and method not in (RETURN, STANDIN):
            raise ValueError(f"unknown method: {method}")
        if fault:
            self._exchange.faults[method] = parsed_fault(fault, times)
        else:
            self._exchange.faults.pop(method, None)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one call of a method."""
        name = request.match_info["method"]
        args, problem = await _arguments(request)
        return await self._exchange.serve(
            request,
            (name, f"api:{name}"),
            _shown(request, args),
            lambda: self._reply(request, name, args, problem),
        )

    async def handle_return(self, request: web.Request) -> web.StreamResponse:
        """Take what is sent to a response URL."""
        raw = await request.text()
        name = request.match_info["name"]
        return await self._exchange.serve(
            request, (RETURN, RETURN), {"body": raw}, lambda: self._returned(name, raw)
        )

    def _returned(self, name: str, raw: str) -> Reply:
        try:
            content = json.loads(raw)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            return Reply(status=400, body={"ok": False, "error": "invalid_payload"})
        try:
            take_return(self._workspace, name, content)
        except Refusal as refusal:
            gone = refusal.body["error"].endswith("_url")
            return Reply(status=404 if gone else 400, body=refusal.body)
        return Reply(body={"ok": True})

    def _reply(
        self, request: web.Request, name: str, args: Json, problem: str | None
    ) -> Reply:
        body = self._body(request, name, args, problem)
        if name in OPEN_METHODS or body.get("error") in _UNKNOWN_CALLER:
            return Reply(body=body)
        scopes = ",".join(sorted(self._workspace.scopes))
        if name in APPS:
            scopes = "connections:write"
        return Reply(body=body, headers={"x-oauth-scopes": scopes})

    def _body(
        self, request: web.Request, name: str, args: Json, problem: str | None
    ) -> Json:
        try:
            if problem is not None:
                raise Refusal(problem)
            method = METHODS.get(name)
            if method is None:
                raise Refusal("unknown_method", req_method=name)
            if name not in OPEN_METHODS:
                self._check_token(_token(request, args), method.app_level)
            call = Call(workspace=self._workspace, args=args)
            call.require(*method.scopes)
            return {"ok": True, **method.run(call)}
        except Refusal as refusal:
            return refusal.body

    def _check_token(self, token: str | None, app_level: bool) -> None:
        if not token:
            raise Refusal("not_authed")
        if token.startswith("xoxb-" if app_level else "xapp-"):
            raise Refusal("not_allowed_token_type")
        app = self._workspace.app
        if token != (app.app_token if app_level else app.bot_token):
            raise Refusal("invalid_auth")
        if not app_level and self._workspace.refuses_token is not None:
            raise Refusal(self._workspace.refuses_token)


_UNKNOWN_CALLER = (
    "not_authed",
    "invalid_auth",
    "unknown_method",
    UNINSTALLED,
    REVOKED,
)


def _token(request: web.Request, args: Json) -> str | None:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer" and token:
        return token.strip()
    given = args.get("token")
    return given if isinstance(given, str) else None


async def _arguments(request: web.Request) -> tuple[Json, str | None]:
    """The arguments of query and body together, or the code that refuses them."""
    args: Json = dict(request.query)
    if request.method == "GET":
        return args, None
    if request.content_type == "application/json":
        try:
            given = json.loads(await request.read() or b"{}")
        except ValueError:
            return args, "invalid_json"
        if not isinstance(given, dict):
            return args, "json_not_object"
        return args | given, None
    if request.content_type in _FORMS or not request.can_read_body:
        return args | dict(await request.post()), None
    return args, "invalid_post_type"


_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def _shown(request: web.Request, args: Json) -> Json:
    headers = shown_headers(request)
    return {"http": request.method, "headers": headers, "args": args}
