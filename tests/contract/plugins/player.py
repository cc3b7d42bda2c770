"""An agent that fills in forms: clumsily that of E12, and two processes die in its hands."""

import pathlib

import psutil

from formlab_arena.actions import Click, Fill, Press, Scroll, Select, Type


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
            started = psutil.Process().children(recursive=True)
            next(process for process in started if killed in process.cmdline()).kill()
        fields = [Fill(at[name].id, values[name]) for name in values]
        return [*fields, Click(element=at["_submit"].id)]
