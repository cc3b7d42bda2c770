"""The systems `chat:MODEL`: any model at any endpoint that speaks OpenAI's protocol."""

from __future__ import annotations

from formlab.systems.chat._gate import Gate, Stopped
from formlab.systems.chat._options import RUNNING, SHAPING, client_of
from formlab.systems.chat.asker import Asker, Prompt
from formlab.systems.chat.client import Client, Unanswered
from formlab.systems.chat.judging import judge_call
from formlab.systems.chat.model import PREFIX, ChatSystem, system, unfinished
from formlab.systems.chat.prices import Budget
from formlab.systems.chat.run import Looks, predictions, questions, results
from formlab.systems.chat.store import Answer, Store
from formlab.systems.chat.tasks import TASKS, prompt_of, tasks_of

__all__ = [
    "PREFIX", "RUNNING", "SHAPING", "TASKS", "Answer", "Asker", "Budget", "ChatSystem", "Client",
    "Gate", "Looks", "Prompt", "Stopped", "Store", "Unanswered", "client_of", "judge_call",
    "predictions", "prompt_of", "questions", "results", "system", "tasks_of", "unfinished",
]  # fmt: skip
