"""The methods that look people, groups, the team and the app itself up."""

from typing import Any

from bot.playground.calls import Call, Method, Refusal
from bot.playground.seed import (
    APP_ID,
    BOT_ID,
    BOT_NAME,
    BOT_USER,
    TEAM_ID,
    Channel,
    Group,
    Json,
    User,
)


def _user(user: User) -> Json:
    return {
        "id": user.id,
        "team_id": user.team_id,
        "name": user.name,
        "real_name": user.real_name,
        "deleted": user.deleted,
        "tz": user.tz,
        "is_bot": user.is_bot,
        "is_app_user": False,
        "is_admin": False,
        "is_owner": False,
        "is_primary_owner": False,
        "is_restricted": user.is_restricted,
        "is_ultra_restricted": user.is_ultra_restricted,
        "is_stranger": user.is_stranger,
        "profile": _profile(user),
    }


def _profile(user: User) -> Json:
    return {
        "real_name": user.real_name,
        "real_name_normalized": user.real_name,
        "display_name": user.display_name,
        "display_name_normalized": user.display_name,
        "team": user.team_id,
    }


def _known(call: Call, user_id: str) -> User:
    user = call.workspace.users.get(user_id)
    if user is None:
        raise Refusal("user_not_found")
    return user


def _users_info(call: Call) -> Json:
    return {"user": _user(_known(call, call.need("user")))}


def _users_list(call: Call) -> Json:
    people, cursor = call.page(list(call.workspace.users.values()))
    return {
        "members": [_user(one) for one in people],
        "response_metadata": {"next_cursor": cursor},
    }


def _lookup_by_email(call: Call) -> Json:
    email = call.need("email")
    for user in call.workspace.users.values():
        if user.email == email and not user.deleted:
            shown = _user(user)
            shown["profile"]["email"] = email
            return {"user": shown}
    raise Refusal("users_not_found")


def _profile_get(call: Call) -> Json:
    return {"profile": _profile(_known(call, call.text("user") or BOT_USER))}


def described(channel: Channel) -> Json:
    """A channel as the `conversations.*` methods show it."""
    if channel.is_im:
        person = next(one for one in channel.members if one != BOT_USER)
        return {"id": channel.id, "is_im": True, "user": person, "is_archived": False}
    return {
        "id": channel.id,
        "name": channel.name,
        "name_normalized": channel.name,
        "is_channel": not channel.is_private,
        "is_group": False,
        "is_im": False,
        "is_mpim": False,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_general": channel.id == "C0GENERAL",
        "is_member": BOT_USER in channel.members,
        "is_shared": channel.is_ext_shared,
        "is_ext_shared": channel.is_ext_shared,
        "is_org_shared": False,
        "context_team_id": TEAM_ID,
        "num_members": len(channel.members),
    }


def listed(call: Call, member: str | None) -> list[Channel]:
    """The channels of the wanted types that the bot, and `member`, can see."""
    families = {"public_channel": "channels", "private_channel": "groups", "im": "im"}
    wanted = call.names("types") or ["public_channel"]
    asked = [families[one] for one in wanted if one in families]
    if len(asked) != len(wanted):
        raise Refusal("invalid_types")
    call.require(*(f"{one}:read" for one in asked))
    without_archived = call.flag("exclude_archived")
    return [
        one
        for one in call.workspace.channels.values()
        if one.family in asked
        and not (without_archived and one.is_archived)
        and (one.family == "channels" or BOT_USER in one.members)
        and (member is None or member in one.members)
    ]


def _users_conversations(call: Call) -> Json:
    person = _known(call, call.text("user") or BOT_USER)
    page, cursor = call.page(listed(call, person.id))
    return {
        "channels": [described(one) for one in page],
        "response_metadata": {"next_cursor": cursor},
    }


def _group(group: Group, *, with_users: bool) -> Json:
    shown: Json = {
        "id": group.id,
        "team_id": TEAM_ID,
        "is_usergroup": True,
        "handle": group.handle,
        "name": group.name or group.handle,
        "description": "",
        "is_external": False,
        "date_delete": 1 if group.disabled else 0,
        "user_count": len(group.users),
    }
    if with_users:
        shown["users"] = list(group.users)
    return shown


def _groups(call: Call) -> Json:
    disabled_too = call.flag("include_disabled")
    with_users = call.flag("include_users")
    return {
        "usergroups": [
            _group(one, with_users=with_users)
            for one in call.workspace.groups.values()
            if disabled_too or not one.disabled
        ]
    }


def _group_users(call: Call) -> Json:
    group = call.workspace.groups.get(call.need("usergroup"))
    if group is None or (group.disabled and not call.flag("include_disabled")):
        raise Refusal("no_such_subteam")
    page, cursor = call.page(list(group.users))
    return {"users": page, "response_metadata": {"next_cursor": cursor}}


def _api_test(call: Call) -> Json:
    error = call.text("error")
    if error is not None:
        raise Refusal(error, args=_shown(call.args))
    return {"args": _shown(call.args)}


def _shown(args: Json) -> dict[str, Any]:
    return {name: value for name, value in args.items() if name != "token"}


def _auth_test(call: Call) -> Json:
    return {
        "url": f"https://{call.workspace.domain}.slack.com/",
        "team": call.workspace.domain,
        "user": BOT_NAME,
        "team_id": TEAM_ID,
        "user_id": BOT_USER,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def _team_info(call: Call) -> Json:
    domain = call.workspace.domain
    return {"team": {"id": TEAM_ID, "name": domain, "domain": domain}}


def _bots_info(call: Call) -> Json:
    if call.text("bot") not in (None, BOT_ID):
        raise Refusal("bot_not_found")
    bot = {
        "id": BOT_ID,
        "deleted": False,
        "name": BOT_NAME,
        "app_id": APP_ID,
        "user_id": BOT_USER,
    }
    return {"bot": bot}


METHODS = {
    "api.test": Method(run=_api_test),
    "auth.test": Method(run=_auth_test),
    "bots.info": Method(run=_bots_info),
    "team.info": Method(run=_team_info),
    "usergroups.list": Method(run=_groups, scopes=("usergroups:read",)),
    "usergroups.users.list": Method(run=_group_users, scopes=("usergroups:read",)),
    "users.conversations": Method(run=_users_conversations),
    "users.info": Method(run=_users_info, scopes=("users:read",)),
    "users.list": Method(run=_users_list, scopes=("users:read",)),
    "users.lookupByEmail": Method(
        run=_lookup_by_email, scopes=("users:read", "users:read.email")
    ),
    "users.profile.get": Method(run=_profile_get),
}
