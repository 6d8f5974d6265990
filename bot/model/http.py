"""One endpoint over httpx: a body in, the parsed JSON of its answer out.

Deadlines, retries, Retry-After and the size of an answer are kept here (contract §18,
T67), for any dialect. Every way to fail is a `ModelError` with a short reason; what
the endpoint said goes into its `detail`, redacted. No redirect is followed.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NoReturn, TypeVar

import httpx
import structlog

from bot.core.digest import parsed
from bot.errors import ModelError
from bot.ports import Clock

T = TypeVar("T")

log = structlog.get_logger(__name__)

TIMEOUT = 120.0  # seconds, for one question with all its attempts and pauses
CONNECT = 10.0  # seconds, until one attempt is connected
RETRIES = 2
RETRY_BASE = 0.5  # seconds
JITTER = 0.1  # seconds, at most
LONGEST_PAUSE = 60  # seconds; who asks for a longer one is not asked again
LARGEST = 4 * 1024 * 1024  # bytes of one answer
RETRYABLE = frozenset({429, 500, 502, 503, 504, 529})

_READ_HERE = 65_536  # bytes; reading more could keep everybody else waiting
_PLAIN = ("", "identity")
_WHO = "the model's endpoint"
_DETAIL_READ = 4096  # bytes of what the endpoint said that are looked at
_DETAIL_KEPT = 200  # characters
_SECONDS = re.compile(r"[ \t]*0*([0-9]{1,10})[ \t]*")
_MOST_SECONDS = 2_147_483_647
_REDACTED = "«redacted»"
_PRIVATE = re.compile(
    r"""(\b(?:user_id|account_id|org_id|organization)["']?\s*[:=]\s*)
    (?: "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' | \{[^{}]*\} | \[[^\[\]]*\]
      | [^\s,}\]]+ )""",
    re.X | re.I,
)


class Endpoint:
    """Where a model answers. Every value in `headers` is taken for a secret.

    `jitter` gives a number from 0 to 1. Without `http`, connections are its own.
    """

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        headers: Mapping[str, str] | None = None,
        http: httpx.AsyncClient | None = None,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._url = url
        self._clock = clock
        self._headers = {
            "Content-Type": "application/json",
            # A few packed bytes could become any number of bytes.
            "Accept-Encoding": "identity",
            **(headers or {}),
        }
        self._hidden = [value.split()[-1] for value in (headers or {}).values()]
        self._own = http is None
        self._http = http or httpx.AsyncClient(follow_redirects=False, trust_env=False)
        self._timeout = timeout
        self._retries = retries
        self._jitter = jitter

    async def ask(self, body: Mapping[str, Any], within: float | None = None) -> object:
        """The JSON that the endpoint answers, or a `ModelError`.

        All attempts and the pauses between them end within `timeout` seconds, or
        `within` when that is less. What took too long is not tried again.
        """
        most = self._timeout if within is None else min(self._timeout, within)
        end = self._clock.monotonic() + most
        # In ASCII: text that no UTF-8 can carry is then the endpoint's to refuse.
        content = json.dumps(body, allow_nan=False).encode()
        left, attempt = most, 0
        while left > 0:
            try:
                return await _in_time(self._attempt(content), left, self._clock)
            except TimeoutError:
                break
            except ModelError as error:
                pause = self._pause(error, attempt)
                left = end - self._clock.monotonic()
                if pause is None or pause >= left:
                    raise
                log.info("model_asked_again", why=error.reason, said=error.detail)
            if pause:
                await self._clock.sleep(pause)
            left = end - self._clock.monotonic()
            attempt += 1
        reason = f"{_WHO} took longer than {max(most, 0):g} s"
        raise ModelError(reason, temporary=True)

    async def aclose(self) -> None:
        """Close the connections that are its own."""
        if self._own:
            await self._http.aclose()

    def _pause(self, error: ModelError, attempt: int) -> float | None:
        """How long to wait before the next attempt; None when there is none."""
        if not error.temporary or attempt >= self._retries:
            return None
        if error.retry_after is None:
            return float(RETRY_BASE * 2**attempt + JITTER * self._jitter())
        return error.retry_after if error.retry_after <= LONGEST_PAUSE else None

    async def _attempt(self, content: bytes) -> object:
        request = self._http.build_request(
            "POST",
            self._url,
            content=content,
            headers=self._headers,
            timeout=httpx.Timeout(None, connect=CONNECT),
        )
        try:
            answer = await self._http.send(
                request, auth=None, stream=True, follow_redirects=False
            )
            try:
                return await self._read(answer)
            finally:
                await answer.aclose()
        except (httpx.ConnectError, httpx.ConnectTimeout):
            reason = f"{_WHO} could not be reached"
            raise ModelError(reason, temporary=True) from None
        except httpx.RequestError:
            reason = f"{_WHO} broke off its answer"
            raise ModelError(reason, temporary=True) from None

    async def _read(self, answer: httpx.Response) -> object:
        if not answer.is_success:
            await self._refused(answer)
        if _packed(answer):
            raise ModelError(f"{_WHO} sent a packed answer, unasked")
        content = bytearray()
        async for chunk in answer.aiter_bytes():
            content += chunk
            if len(content) > LARGEST:
                raise ModelError(f"{_WHO} sent more than {LARGEST // 1024**2} MiB")
        try:
            if len(content) <= _READ_HERE:
                return parsed(content.decode())
            return await asyncio.to_thread(parsed, content.decode())
        except ValueError:
            raise ModelError(
                f"{_WHO} answered with something that is not JSON",
                status=answer.status_code,
                detail=self._detail(content),
                temporary=True,
            ) from None

    async def _refused(self, answer: httpx.Response) -> NoReturn:
        """Raise what an answer that is not a success means."""
        status = answer.status_code
        reason = f"{_WHO} answered {status}"
        retry_after = None
        if answer.has_redirect_location:
            reason += ", a redirect, which is not followed"
        elif status in RETRYABLE:
            retry_after = _retry_after(answer.headers.get("retry-after", ""))
        if retry_after:
            reason += f" and asks to wait {retry_after} s"
        said = bytearray()
        if status not in (401, 403) and not _packed(answer):
            async for chunk in answer.aiter_bytes():
                said += chunk
                if len(said) >= _DETAIL_READ:
                    break
        raise ModelError(
            reason,
            status=status,
            detail=self._detail(said),
            retry_after=retry_after,
            temporary=status in RETRYABLE,
        )

    def _detail(self, said: bytes | bytearray) -> str:
        """The start of what the endpoint said, without whom it knows us as."""
        text = said[:_DETAIL_READ].decode(errors="replace")
        for secret in self._hidden:
            text = text.replace(secret, _REDACTED)
        text = _PRIVATE.sub(rf"\1{_REDACTED}", text)
        return text if len(text) <= _DETAIL_KEPT else f"{text[:_DETAIL_KEPT]}…"


def _packed(answer: httpx.Response) -> bool:
    return str(answer.headers.get("content-encoding", "")).lower() not in _PLAIN


def _retry_after(value: str) -> int | None:
    """The seconds in a Retry-After; None for anything but plain ASCII digits."""
    found = _SECONDS.fullmatch(value)
    seconds = int(found[1]) if found else _MOST_SECONDS + 1
    return seconds if seconds <= _MOST_SECONDS else None


async def _in_time(work: Coroutine[Any, Any, T], seconds: float, clock: Clock) -> T:
    """What the work returns; it is cancelled, `TimeoutError`, when time runs out."""
    task = asyncio.ensure_future(work)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait((task, timer), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        for each in (task, timer):
            each.cancel()
        await asyncio.gather(task, timer, return_exceptions=True)
