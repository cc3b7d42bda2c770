"""How pages of images are sent to a model."""

import base64
import io

import pytest
from PIL import Image

from formlab.systems.chat.images import pages


@pytest.mark.parametrize("orientation", [1, 6])
def test_a_page_is_sent_as_it_is_shown_and_without_a_tag_that_turns_it_again(tmp_path, orientation):
    tags = Image.Exif()
    tags[0x0112] = orientation
    Image.new("L", (60, 40), 255).save(tmp_path / "a.png", exif=tags)
    [page] = pages([tmp_path / "a.png"], limit=1000)
    size = (40, 60) if orientation == 6 else (60, 40)
    kind, _, data = page.url().partition(";base64,")
    with Image.open(io.BytesIO(base64.b64decode(data))) as sent:
        assert sent.size == page.size == size
        assert sent.getexif().get(0x0112, 1) == 1
    # As it is, byte for byte, where nothing has to be turned.
    assert kind == ("data:image/jpeg" if orientation == 6 else "data:image/png")
