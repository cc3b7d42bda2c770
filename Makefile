# Two commands on a fresh machine: `make report` and `make test`. Each does all of the set-up.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
# Compiled modules are kept: else each of the processes that tests start compiles all of them again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup report docs pictures test test-all test-llm test-inspect browser lint lock faults fuzz performance count clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "formlab needs Python 3.11 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

report: setup browser  ## build the reports of the project's own samples into reports/
	$(BIN)/formlab report --out reports

docs: setup  ## the documentation as a site that needs no network: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build

pictures: report  ## the README's pictures and its sample report, from the reports of the samples
	$(BIN)/python docs/pictures.py reports

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

test: setup browser lint  ## everything that must hold
	$(PYTEST)

test-all: setup browser lint  ## also the wheel, JupyterLab, a cluster, the site, all seeds, null looks
	FORMLAB_TESTS=all $(PYTEST)

test-llm: setup .venv-llm/ready  ## runs against a real small model; the first build takes ten minutes
	FORMLAB_LLM_PYTHON=.venv-llm/bin/python FORMLAB_LLM_MODELS=.venv-llm/models \
	  $(BIN)/python -m pytest tests/llm -p no:randomly

# The extra's packages alone: formlab itself runs in .venv, and speaks to the model over HTTP.
.venv-llm/ready: pyproject.toml
	$(PYTHON) -m venv .venv-llm
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["llm"], sep="\n")' > .venv-llm/requirements.txt
	.venv-llm/bin/python -m pip install --disable-pip-version-check -r .venv-llm/requirements.txt
	@touch $@

test-inspect: .venv-inspect/ready  ## formlab's scorer inside of Inspect itself
	.venv-inspect/bin/python -m pytest tests/plugins/test_inspect_scorer.py

# Without the lock: Inspect needs an older python-dateutil.
.venv-inspect/ready: pyproject.toml
	$(PYTHON) -m venv .venv-inspect
	.venv-inspect/bin/python -m pip install --quiet --disable-pip-version-check -e '.[inspect]' pytest pytest-randomly pytest-socket
	@touch $@

MINUTES ?= 5
SEED ?= 0
fuzz: setup  ## mutated inputs for all that reads files: MINUTES=60 SEED=7 make fuzz
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED)

browser: setup  ## a Chromium: an installed one, else Playwright's, else Debian's
	@$(BIN)/python -c "from formlab import browser; print(browser.find())" 2> /dev/null || $(BIN)/python -m playwright install chromium || \
	  { test "$$(id -u)" = 0 && apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends chromium; } || \
	  $(BIN)/python -c "from formlab import browser; print(browser.find())"

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

performance: setup  ## speed and memory beside the libraries a user would pick instead
	$(BIN)/python performance/floors.py

faults: setup  ## seeded faults, each of which must turn the contract red: make faults ROOM=scoring
	$(BIN)/python -m tests.faults $(ROOM)

count:  ## lines by room, with the limit of each and its goal
	@$(PYTHON) -m tests.house

lock: setup  ## pin what pyproject.toml lists, each file by its hash, and list the licences
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet --generate-hashes -o requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps -r requirements.lock
	$(BIN)/python docs/licences.py

clean:
	rm -rf .venv .venv-llm .venv-inspect reports site figures runs evals .pytest_cache .ruff_cache
