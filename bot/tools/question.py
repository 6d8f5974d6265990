"""The built-in tool that asks a person one or more questions (contract §14).

The bot registers it only when a rule of the policy names it. How a question is drawn
for people is not decided here.
"""

from __future__ import annotations

import json
from typing import Any

from bot.contract.suspend import pending
from bot.contract.types import ToolContext, ToolResult
from bot.tools.define import define_tool

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "questions": {
            "type": "array",
            "description": "What to ask, one entry per question.",
            "items": {
                "type": "object",
                "properties": {
                    "question": {"type": "string"},
                    "header": {"type": "string"},
                    "options": {"type": "array", "items": {"type": "string"}},
                    "multiple": {"type": "boolean"},
                },
                "required": ["question"],
            },
        }
    },
    "required": ["questions"],
    "additionalProperties": False,
}


def question_prompt(questions: list[dict[str, Any]]) -> str:
    """The questions in words, one line each, with their options."""
    return "\n".join(map(_line, questions))


def _line(entry: dict[str, Any]) -> str:
    if not isinstance(entry, dict) or "question" not in entry:
        raise ValueError("each of the questions must be an object with a question")
    options = entry.get("options") or []
    if not isinstance(options, list):
        raise ValueError("options must be a list")
    offered = f" (options: {', '.join(map(str, options))})" if options else ""
    return f"{entry['question']}{offered}"


async def _ask(
    questions: list[dict[str, Any]], ctx: ToolContext | None = None
) -> ToolResult:
    """Ask a person one or more questions and wait for the answers."""
    if ctx is not None and ctx.answer is not None:
        data = ctx.answer.data or {}
        return ToolResult(
            json.dumps(data, ensure_ascii=False, separators=(",", ":")), False
        )
    if not isinstance(questions, list):
        raise ValueError("questions must be a list")
    prompt = question_prompt(questions)
    return pending(kind="question", prompt=prompt, data={"questions": questions})


question = define_tool(_ask, name="question", input_schema=_SCHEMA, source="builtin")
