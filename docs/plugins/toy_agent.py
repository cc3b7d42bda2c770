"""An agent of one's own: it fills in the fields that lines of the text name, and sends the form."""

from formlab_arena.actions import Click, Fill


class Lines:
    """Reads texts with a line "Label: value" for each field."""

    name = "lines"
    observes = "tree"  # the elements; "boxes" only where they are, "pixels" the screenshot alone

    def __init__(self):
        self.sent = False

    def act(self, observation):
        """The next actions; none ends the episode."""
        lines = [line.partition(": ") for line in observation.text.splitlines()]
        values = {label.casefold(): value for label, colon, value in lines if colon}
        actions = [
            Fill(element.id, values[element.name.casefold()])
            for element in observation.elements
            if element.name.casefold() in values and not element.value
        ]
        buttons = [e for e in observation.elements if e.role == "button"]
        if not actions and buttons and not self.sent:
            self.sent = True
            actions = [Click(element=buttons[-1].id)]
        return actions
