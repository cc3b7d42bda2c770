"""`python -m formlab`: the command where it is not on the path."""

from formlab.cli import main

main()
