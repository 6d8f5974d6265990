"""The whole product, started by its own commands: what a newcomer does, and a script.

`countersign playground` as a process, its bot as another, a real browser in front; and
the same by signed HTTP against `countersign serve` started by hand.
"""

import asyncio
import hmac
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from playwright.async_api import Page, expect
from test_command import two_ports

TOKEN = "t"
PATIENCE = 30
ARTIFACTS = Path(__file__).parents[2] / "artifacts"


class Running:
    """A playground in a process of its own, spoken to through its page API."""

    def __init__(self, port: int, lines: list[str]) -> None:
        self.port = port
        self.lines = lines
        self.url = f"http://127.0.0.1:{port}"
        self.page = f"{self.url}/?token={TOKEN}"
        self.client = httpx.AsyncClient(
            base_url=self.url,
            headers={"X-Playground-Token": TOKEN},
            timeout=PATIENCE,
            trust_env=False,
        )

    async def post(self, path: str, **body: object) -> dict:
        answer = await self.client.post(path, json=body)
        return answer.json()

    async def state(self) -> dict:
        return (await self.client.get("/ui/state")).json()

    async def wait(self, condition: str) -> None:
        asked = {"for": condition, "timeout": PATIENCE}
        answer = (await self.client.get("/ui/wait", params=asked)).json()
        assert answer["ok"], (condition, answer)


@asynccontextmanager
async def process(*words: str, folder: Path, env: dict[str, str] | None = None):
    """A command of the product; at the end it is stopped as Ctrl-C would."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot",
        *words,
        cwd=folder,
        env={**os.environ, **(env or {})},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.send_signal(signal.SIGINT)
        await asyncio.wait_for(started.wait(), PATIENCE)
        await started.stdout.read()


@asynccontextmanager
async def playground(
    folder: Path, *options: str, until: str = "Ctrl-C"
) -> AsyncIterator[Running]:
    port = two_ports()
    words = ("playground", "--no-open", "--port", str(port), "--token", TOKEN)
    async with process(*words, *options, folder=folder) as started:
        lines: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while not any(until in line for line in lines):
                line = (await started.stdout.readline()).decode()
                assert line, "".join(lines)
                lines.append(line)
        reading = asyncio.create_task(started.stdout.read())
        running = Running(port, lines)
        try:
            yield running
        finally:
            await running.client.aclose()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


def keep(name: str) -> str:
    """Where a screenshot is kept for people to look at."""
    ARTIFACTS.mkdir(exist_ok=True)
    return str(ARTIFACTS / name)


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_newcomer_does_the_main_job_in_the_browser(tmp_path, page_at):
    async with playground(tmp_path) as slack:
        page = await page_at(slack.page)
        messages = page.get_by_role("log", name="Messages in #ops")
        composer = page.get_by_role("textbox", name="Message #ops")
        cards = messages.get_by_role("article")

        # Ada asks: the composer already holds the command.
        await expect(composer).to_have_value("/tool restart service=api")
        await composer.press("Enter")
        approve = messages.get_by_role("button", name="Approve", exact=True)
        await expect(approve).to_be_visible()
        await page.screenshot(path=keep("waiting.png"))
        await expect(page.get_by_role("region", name="Ben's phone")).to_contain_text(
            "Approve? Restart api in eu. Ada asks. CS-1"
        )

        # Her own yes does not count, and she is told so in private.
        await approve.click()
        await expect(cards.filter(has_text="your yes does not count")).to_be_visible()
        await page.screenshot(path=keep("refused.png"))
        assert (await slack.state())["tool_log"] == []

        # Ben's does.
        await page.get_by_role("radio", name="Ben").click()
        await approve.click()
        await expect(cards.filter(has_text="Approved by Ben")).to_contain_text("Done")
        await expect(approve).to_have_count(0)
        await page.screenshot(path=keep("settled.png"))
        await expect(page.get_by_role("region", name="Ada's phone")).to_contain_text(
            "Done in"
        )
        assert len((await slack.state())["tool_log"]) == 1

        # Pull the plug while the next card waits: nothing is lost.
        await page.get_by_role("radio", name="Ada").click()
        await composer.fill("/tool restart service=web")
        await composer.press("Enter")
        await expect(approve).to_be_visible()
        await page.get_by_role("button", name="Kill the bot").click()
        await expect(page.get_by_role("button", name="Start the bot")).to_be_visible()
        await page.get_by_role("radio", name="Ben").click()
        await approve.click()
        await expect(page.get_by_role("alert")).to_contain_text("dispatch_failed")
        await page.screenshot(path=keep("killed.png"))
        await page.get_by_role("button", name="Start the bot").click()
        await expect(page.get_by_role("button", name="Kill the bot")).to_be_visible()
        assert len((await slack.state())["tool_log"]) == 1
        await approve.click()
        web = cards.filter(has_text="What ran").filter(has_text='service = "web"')
        await expect(web).to_contain_text("Done")
        ran = [line["args"]["service"] for line in (await slack.state())["tool_log"]]
        assert ran == ["api", "web"]

        # A kind that nobody has heard of, for the requester alone.
        await page.get_by_role("radio", name="Ada").click()
        await composer.fill("/tool countdown")
        await composer.press("Enter")
        done = messages.get_by_role("button", name="Done", exact=True)
        await expect(done).to_be_visible()
        await page.screenshot(path=keep("fallback.png"))
        await done.click()
        await expect(done).to_have_count(0)
        await slack.wait("tool:countdown:1")
        await page.close()


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_card_fits_a_phone(tmp_path, page_at):
    async with playground(tmp_path) as slack:
        page = await page_at(slack.page, width=320)
        composer = page.get_by_role("textbox", name="Message #ops")
        await composer.fill(f"/tool restart service={'x' * 565}")
        await composer.press("Enter")
        approve = page.get_by_role("button", name="Approve", exact=True)
        await expect(approve).to_be_visible()
        await page.screenshot(path=keep("phone.png"))

        card = page.get_by_role("article").filter(has=approve)
        title = await card.get_by_text("Restart (service: see card)").bounding_box()
        button = await approve.bounding_box()
        header = await page.get_by_role("heading", name="#ops").bounding_box()
        assert title["y"] >= header["y"] + header["height"]
        assert button["y"] + button["height"] <= 640
        assert 600 - 30 <= await characters(page) <= 600
        wide = "document.documentElement.scrollWidth > window.innerWidth"
        assert not await page.evaluate(wide)
        await page.close()


async def characters(page: Page) -> int:
    """How long the arguments are that the newest card shows."""
    return len(await page.locator("pre").last.inner_text())


@pytest.mark.asyncio(loop_scope="session")
async def test_the_same_by_signed_http_against_serve_started_by_hand(tmp_path):
    async with playground(tmp_path, "--attach", until="Waiting") as slack:
        env = exported(slack.lines)
        port = slack.port + 1
        serve = process("serve", "--port", str(port), folder=tmp_path, env=env)
        async with serve as bot:
            await slack.wait("bot:up")
            hand = Hand(env, f"http://127.0.0.1:{port}")
            reply = await hand.command("U0ADA", "restart service=api")
            assert "It has not run yet" in reply.text
            await slack.wait("message:C0OPS:contains:Restart api in eu")
            (card,) = (await slack.state())["messages"]["C0OPS"]

            for user in ("U0ADA", "U0CLEO"):
                assert (await hand.click(user, card, "cs_approve")).status_code == 200
            assert (await slack.state())["tool_log"] == []
            assert (await hand.click("U0BEN", card, "cs_approve")).status_code == 200

            await slack.wait("tool:restart:1")
            await slack.wait(f"settled:C0OPS:{card['ts']}")
            await slack.wait("notified:U0ADA:contains:Done in")
            again = await hand.click("U0BEN", card, "cs_approve")
            assert again.status_code == 200
            assert len((await slack.state())["tool_log"]) == 1
            killed = await slack.post("/ui/bot", do="kill")
            assert not killed["ok"]
            assert bot.returncode is None


def exported(lines: list[str]) -> dict[str, str]:
    """The variables that `--attach` prints as `export NAME=value` lines."""
    words = [shlex.split(line) for line in lines if line.startswith("export ")]
    return dict(pair[1].split("=", 1) for pair in words)


class Hand:
    """Somebody with the signing secret, and no playground in between."""

    def __init__(self, env: dict[str, str], url: str) -> None:
        self.secret = env["SLACK_SIGNING_SECRET"].encode()
        self.url = url

    async def command(self, user: str, text: str) -> httpx.Response:
        return await self.post(
            command="/tool",
            text=text,
            user_id=user,
            team_id="T0HOME",
            channel_id="C0OPS",
            api_app_id="A0CSIGN",
            trigger_id="1.2.abc",
        )

    async def click(self, user: str, card: dict, action: str) -> httpx.Response:
        element = next(
            e
            for b in card["blocks"]
            if b["type"] == "actions"
            for e in b["elements"]
            if e["action_id"] == action
        )
        payload = {
            "type": "block_actions",
            "api_app_id": "A0CSIGN",
            "team": {"id": "T0HOME"},
            "user": {"id": user, "team_id": "T0HOME"},
            "container": {"message_ts": card["ts"], "channel_id": "C0OPS"},
            "channel": {"id": "C0OPS"},
            "message": {**card, "app_id": "A0CSIGN"},
            "actions": [{**element, "block_id": "b", "action_ts": "1"}],
        }
        return await self.post(payload=json.dumps(payload))

    async def post(self, **fields: str) -> httpx.Response:
        body = urlencode(fields).encode()
        stamp = str(int(time.time()))
        base = b"v0:" + stamp.encode() + b":" + body
        mac = hmac.new(self.secret, base, "sha256")
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={mac.hexdigest()}",
        }
        async with httpx.AsyncClient(trust_env=False, timeout=10) as client:
            return await client.post(
                f"{self.url}/slack/events", content=body, headers=headers
            )
