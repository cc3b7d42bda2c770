"""An agent that fills in forms: clumsily that of E12, and two processes die in its hands."""

import contextlib
import pathlib

import psutil

from formlab_arena.actions import Click, Fill, Press, Scroll, Select, Type


def kill_newest(word):
    """Kill the last process started with this word; older ones belong to other tests."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            command = process.cmdline()
            # A browser's own processes repeat its words.
            if word in command and not any(part.startswith("--type=") for part in command):
                found.append(process)
    max(found, key=psutil.Process.create_time).kill()


class Player:
    name, observes = "player", "tree"

    def __init__(self, instance):
        self.instance, self.looks = instance, 0

    def act(self, seen):
        self.looks += 1
        values, at = self.instance.values, {element.field: element for element in seen.elements}
        if self.instance.code == "E12" and self.looks == 1:
            return [Scroll(60)]
        if self.instance.code == "E12" and self.looks == 2:
            name, (left, _, _, bottom) = Click(element=at["holder"].id), at["number"].box
            return [
                name,
                Type(values["holder"]),
                name,
                Press("Control+A"),
                Type(values["born"]),
                Select(at["account"].id, (values["account"],)),
                Select(at["proof"].id, ("Driving licence",)),
                Click(left + 20, bottom + 10),
                Type(values["number"]),
            ]
        if self.looks > 1:
            return []
        killed = {1: "--headless", 2: "serve"}.get(self.instance.number)
        if killed and not (marker := pathlib.Path(f"{killed}.killed")).exists():
            marker.touch()
            kill_newest(killed)
        fields = [Fill(at[name].id, values[name]) for name in values]
        return [*fields, Click(element=at["_submit"].id)]
