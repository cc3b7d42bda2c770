"""A tiny FormFactory made on the spot: two grant applications and one medical study."""

import json

from PIL import Image

GRANTS = [
    {"First Name": "Ada", "Last Name": "Berg", "Email": "ada@example.org", "Gender": "Female",
     "Date of Birth": "1980/02/03", "Subscribe to Newsletter": False},
    {"First Name": "Bo", "Last Name": "Dahl", "Email": "bo@example.org", "Gender": "Male",
     "Date of Birth": "1990/12/24", "Subscribe to Newsletter": True},
]  # fmt: skip
STUDY = [{"Full Name": "Cy Ek", "Age": 40, "Availability": "Weekends", "nickname": "C"}]
GRANT_TEXTS = """1. Ada Berg, born 1980/02/03, writes from ada@example.org. She wants
1. a grant
2. some tea

2. Bo Dahl (bo@example.org), born 1990/12/24.
"""
GRANT_BOXES = """[A12][First Name][10,10,100,30]
[A12][Last Name][110,10,190,30]
[A12][Email][10,40,100,60]
[A12][Date of Birth][110,40,190,60]
[A12][Male][10,70,20,80]
[A12][Female][10,85,20,95]
[A12][Subscribe to Newsletter][110,70,120,80]
"""
STUDY_BOXES = {
    "F12_1": "[F12_1][Full Name][10,10,100,30]\n[F12_1][Age][110,10]\n"
    "[F12_1][Select availability][10,40,100,60]\n",
    "F12_2": "\n[F12_2][Select availability][10,40,100,60]\n[F12_9][Weekdays][10,60,100,70]\n"
    "[F12_2][Weekends][10,70,100,80]\n[F12_2][Both][10,80,300,90]\n",
}


def make(root):
    """Write the files in the released layout below `root`, and give `root` back."""
    for folder in ("data1", "data2", "labeled-images/A", "labeled-images/F"):
        (root / folder).mkdir(parents=True)
    (root / "data1" / "grant_applications.json").write_text(json.dumps(GRANTS))
    (root / "data2" / "grant_applications.txt").write_text(GRANT_TEXTS)
    (root / "data1" / "Medical_study_Form.json").write_text(json.dumps(STUDY))
    (root / "data2" / "Medical_study_Form.txt").write_text("Cy Ek has no number.\n")
    for stem, lines in {"A12": GRANT_BOXES, **STUDY_BOXES}.items():
        folder = root / "labeled-images" / stem[0]
        (folder / f"{stem}.txt").write_text(lines)
        Image.new("RGB", (200, 100), "white").save(folder / f"{stem}.png")
    return root
