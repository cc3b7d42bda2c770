import pytest

from formlab_arena.uploads import inside


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
