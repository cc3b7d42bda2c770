from PIL import Image, ImageChops

from formlab_arena.marks import draw
from formlab_arena.observation import Element


def element(*box, name="f1e1"):
    return Element("name", None, "text", "", None, (), box, id=name)


def test_frames_lie_on_the_elements_in_view_and_nowhere_else():
    image = Image.new("RGB", (300, 200), "white")
    boxes = [(20, 60, 120, 90), (400, 10, 500, 40), (-50, -50, -10, -10), (10, 10, 10, 20),
             (150, 150, 900, 900)]  # fmt: skip
    drawn = draw(image, [element(*box, name=f"f1e{n}") for n, box in enumerate(boxes)])
    assert drawn.size == image.size
    assert drawn.getpixel((20, 75)) != (255, 255, 255)
    assert drawn.getpixel((150, 180)) != drawn.getpixel((20, 75))
    # Inside the frames everything stays to be read.
    for inner in ((21, 61, 119, 89), (151, 151, 300, 200), (0, 0, 300, 40)):
        assert ImageChops.difference(drawn.crop(inner), image.crop(inner)).getbbox() is None


def test_frames_are_in_the_pixels_of_a_resized_screenshot():
    drawn = draw(Image.new("RGB", (150, 100), "white"), [element(20, 60, 120, 90)], scale=0.5)
    assert drawn.getpixel((10, 40)) != (255, 255, 255)
    assert drawn.getpixel((20, 60)) == (255, 255, 255)
