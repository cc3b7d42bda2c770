"""The systems `chat:MODEL`: any model at any endpoint that speaks OpenAI's protocol."""

from formlab.systems.chat.answers import Answer
from formlab.systems.chat.ask import prompt_of
from formlab.systems.chat.benchmarks import TASKS, tasks_of
from formlab.systems.chat.client import Client
from formlab.systems.chat.limits import Limits, Stopped
from formlab.systems.chat.model import PREFIX, ChatSystem, questions, results, system
from formlab.systems.chat.settings import RUNNING, SETTINGS, SHAPING, client_of
from formlab.systems.chat.store import AnswerStore, Asker, Prompt
from formlab.systems.chat.view import PageView

__all__ = ["PREFIX", "RUNNING", "SETTINGS", "SHAPING", "TASKS", "Answer", "AnswerStore", "Asker"]
__all__ += ["ChatSystem", "Client", "Limits", "PageView", "Prompt", "Stopped", "client_of"]
__all__ += ["prompt_of", "questions", "results", "system", "tasks_of"]
