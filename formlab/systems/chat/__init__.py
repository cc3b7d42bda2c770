"""The systems `chat:MODEL`: any model at any endpoint that speaks OpenAI's protocol."""

from formlab.systems.chat.answers import Answer
from formlab.systems.chat.ask import PageView, prompt_of
from formlab.systems.chat.benchmarks import TASKS, tasks_of
from formlab.systems.chat.client import Client, Limits, Stopped
from formlab.systems.chat.model import PREFIX, ChatSystem, results, system
from formlab.systems.chat.settings import RUNNING, SETTINGS, SHAPING
from formlab.systems.chat.store import AnswerStore, Asker, Prompt

__all__ = ["PREFIX", "RUNNING", "SETTINGS", "SHAPING", "TASKS", "Answer", "AnswerStore", "Asker"]
__all__ += ["ChatSystem", "Client", "Limits", "PageView", "Prompt", "Stopped", "prompt_of"]
__all__ += ["results", "system", "tasks_of"]
