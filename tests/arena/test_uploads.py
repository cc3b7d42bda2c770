import pytest

from formlab_arena.uploads import inside, paths
from formlab_arena.widgets import Refused


@pytest.fixture
def upload(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "plan.pdf").write_text("%PDF")
    (tmp_path / "secret.pdf").write_text("secret")
    (folder / "link.pdf").symlink_to(tmp_path / "secret.pdf")
    return folder


@pytest.mark.parametrize(
    "name",
    ["../secret.pdf", "link.pdf", "/etc/passwd", ".", "", "none.pdf", "a\0b", "\ud800", "x" * 9999],
)
def test_only_files_of_the_run_itself_can_be_uploaded(upload, name):
    assert inside(upload, name) is None


def test_file_of_the_run_can_be_uploaded(upload):
    assert inside(upload, " plan.pdf ") == upload / "plan.pdf"


def test_several_files_go_only_where_several_are_taken(upload):
    (upload / "b.pdf").write_text("%PDF")
    names = ("plan.pdf", "b.pdf")
    assert paths(upload, names, several=True) == [upload / name for name in names]
    with pytest.raises(Refused, match="takes one file"):
        paths(upload, names, several=False)
    with pytest.raises(Refused, match="no such file"):
        paths(upload, ("plan.pdf", "../secret.pdf"), several=True)
