"""Reading a drawn message in tests: its words, its references, its faults."""

from bot.playground import blockkit
from bot.slack import limits

PARTS = {"rich_text_section", "rich_text_preformatted", "rich_text_quote"}
KINDS_OF_BLOCK = {"rich_text", "context", "actions"}
#: Objects that carry text; anything else (mrkdwn, link, header, image) is a fault.
KNOWN = {
    *PARTS,
    *KINDS_OF_BLOCK,
    "text",
    "user",
    "usergroup",
    "channel",
    "date",
    "plain_text",
    "button",
}


def objects(part):
    """Every typed object of a message, outermost first."""
    if isinstance(part, list):
        for one in part:
            yield from objects(one)
    elif isinstance(part, dict):
        if "type" in part:
            yield part
        for content in part.values():
            yield from objects(content)


def faults(message):
    """What Slack would refuse, and what we never send."""
    found = list(blockkit.message_problems(message.blocks))
    for one in objects(message.blocks):
        if one["type"] not in KNOWN:
            found.append(f"a {one['type']} object")
        if one["type"] == "plain_text" and one.get("emoji") is not False:
            found.append("plain_text with emoji")
    if message.blocks[0]["type"] != "rich_text":
        found.append("the first block is not our line")
    if blockkit.text_sum(message.blocks) > limits.ALL_TEXT:
        found.append("too much text")
    if any(mark in message.text for mark in "<>"):
        found.append("markup in text")
    return found


def references(message):
    """The ids that a message refers to, and so notifies."""
    return {
        one.get("user_id") or one.get("usergroup_id")
        for one in objects(message.blocks)
        if one["type"] in ("user", "usergroup")
    }


def words(message):
    """All words of the blocks; references and times in angle brackets."""
    return "\n".join(_block(block) for block in message.blocks)


def boxes(message):
    """The texts of the boxes, in order."""
    return [
        "".join(_element(e) for e in one["elements"])
        for one in objects(message.blocks)
        if one["type"] == "rich_text_preformatted"
    ]


def quotes(message):
    """The texts of the quotations, in order."""
    return [
        "".join(_element(e) for e in one["elements"])
        for one in objects(message.blocks)
        if one["type"] == "rich_text_quote"
    ]


def ours(message):
    """The words outside boxes, quotations and inline literals."""
    return "\n".join(
        "".join(_element(e) for e in one["elements"] if not _literal(e))
        for one in objects(message.blocks)
        if one["type"] == "rich_text_section"
    )


def first_line(message):
    return _block(message.blocks[0])


def buttons(message):
    """Label, action and value of every control."""
    return [
        (one["text"]["text"], one["action_id"], one["value"])
        for one in objects(message.blocks)
        if one["type"] == "button"
    ]


def labels(message):
    return [label for label, _, _ in buttons(message)]


def _literal(element):
    return element.get("style", {}).get("code") is True


def _block(block):
    if block["type"] == "actions":
        return " ".join(f"[{e['text']['text']}]" for e in block["elements"])
    if block["type"] == "context":
        return block["elements"][0]["text"]
    return "\n".join(
        "".join(_element(e) for e in part["elements"]) for part in block["elements"]
    )


def _element(element):
    match element["type"]:
        case "user":
            return f"<{element['user_id']}>"
        case "usergroup":
            return f"<{element['usergroup_id']}>"
        case "channel":
            return f"<{element['channel_id']}>"
        case "date":
            return f"<{element['fallback'].removesuffix(' UTC')}>"
        case _:
            return element["text"]
