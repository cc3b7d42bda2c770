"""The systems `chat:MODEL`: any model at any endpoint that speaks OpenAI's protocol."""

from formlab.systems.chat.answers import Answer, AnswerStore
from formlab.systems.chat.ask import PageView, prompt_of
from formlab.systems.chat.benchmarks import TASKS, tasks_of
from formlab.systems.chat.client import RUNNING, SETTINGS, SHAPING, Client, Stopped
from formlab.systems.chat.model import PREFIX, Asker, ChatSystem, readings, system

__all__ = ["PREFIX", "RUNNING", "SETTINGS", "SHAPING", "TASKS", "Answer", "AnswerStore", "Asker"]
__all__ += ["ChatSystem", "Client", "PageView", "Stopped", "prompt_of", "readings"]
__all__ += ["system", "tasks_of"]
