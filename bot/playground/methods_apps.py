"""The method of an app-level token: opening a connection in Socket Mode."""

from bot.playground.calls import Call, Method, Refusal
from bot.playground.seed import APP_ID, Json


def _open_connection(call: Call) -> Json:
    workspace = call.workspace
    if not workspace.app.socket_mode:
        # The code is not known for an app whose Socket Mode is off.
        raise Refusal("invalid_auth")
    ticket = workspace.new_ticket()
    url = f"{workspace.socket_url}?ticket={ticket}&app_id={APP_ID}"
    return {"url": url}


METHODS = {
    "apps.connections.open": Method(run=_open_connection, app_level=True),
}
