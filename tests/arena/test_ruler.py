from PIL import Image, ImageChops

from formlab_arena.ruler import draw


def test_ruler_touches_only_its_own_edges_and_marks_every_hundredth_pixel():
    image = Image.new("RGB", (640, 400), (10, 120, 60))
    ruled = draw(image)
    assert ruled.size == image.size
    assert image.getpixel((0, 0)) == (10, 120, 60)
    inner = (40, 20, 640, 400)
    assert ImageChops.difference(ruled.crop(inner), image.crop(inner)).getbbox() is None
    # Full tick at 100, short at 120, none at 110 (white paper).
    assert [ruled.getpixel((x, 9)) for x in (300, 320)] == [(200, 0, 0), (255, 255, 255)]
    assert ruled.getpixel((320, 3)) == (200, 0, 0)
    assert ruled.getpixel((630, 3)) == (255, 255, 255)
