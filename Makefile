# Three commands: `make learn` lays out the exercises, `make demo` shows a course and its grading,
# `make test` runs the tests. Each makes .venv first; what is installed is pinned in constraints.txt.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LEARNER := $(VENV)/.learner
READY := $(VENV)/.ready
ALL_MINUTES := 40

BROWSER := $(VENV)/.browser
PYODIDE := $(VENV)/.pyodide/.complete

.PHONY: learn demo site test test-all test-attacks test-costs coverage test-browser test-wasm test-postgres pictures check check-code check-proof mutants layers corpus corpus-diff build bench costs training-costs clean

# Tests start hundreds of processes, and each would compile the kit anew.
unexport PYTHONDONTWRITEBYTECODE

# In processes side by side, each with the tests of whole files.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile

# FOLDER=elsewhere puts the exercises there.
FOLDER ?= my-attention

learn: $(LEARNER)
	@$(BIN)/attn start $(FOLDER)

demo: $(READY)
	$(BIN)/attn course demo

# What CI runs. ROOM=judging runs only the tests of that room of autograder/ and of the rooms that
# import it, ROOM='judging checks' those of both, TESTS=tests/judging only those of that folder.
test: $(READY)
	@tests="$(TESTS)"; \
	[ -z "$(ROOM)" ] || tests=$$(PYTHONPATH=tests $(BIN)/python tests/support/room_tests.py $(ROOM)) || exit; \
	echo "$(PYTEST) -m 'not slow' $$tests"; $(PYTEST) -m "not slow" $$tests

# Everything, before a release and before an issue is called done: the tests of `make test`, and
# those that take minutes, which try more moments of killing a run, more ways through nbgrader,
# more installations, and at length what `make test` takes a sample of. Then the browser, a browser's
# Python, the database, and every mutant of every exercise.
test-all: $(BROWSER)
	@echo "everything takes about $(ALL_MINUTES) minutes on two cores"
	$(PYTEST) $(TESTS)
	$(MAKE) test-browser test-wasm test-postgres mutants

# The processor time of each folder, of the files and of the tests that take most. Not counted is
# what a process uses that is left over by one that was killed.
test-costs: $(READY)
	$(PYTEST) -p tests.support.processor_time -m "not slow" $(TESTS)

# The fast tests once more, slower: which lines and branches they run, also in processes that they
# start. It fails below the floor in pyproject.toml. TESTS=tests/reports measures only that folder.
# The folder is open to all, since some of the processes belong to another user; what is left in it
# after combining is half a file of a process that was killed while it wrote.
coverage: $(READY)
	rm -rf .coverage
	mkdir -m 1777 .coverage
	$(BIN)/coverage run -m pytest -n auto --dist loadfile -p tests.support.measured_processes -m "not slow" $(TESTS)
	$(BIN)/coverage combine --quiet
	rm -f .coverage/data.*
	$(BIN)/coverage report
	$(BIN)/python tests/project/coverage_floor.py

# Every attack of tests/attacks, in one class; `make test` takes one for each row of their table.
test-attacks: $(READY)
	$(BIN)/python -m pytest tests/sandbox/test_attacks.py

# The learner's day in a real browser and a real terminal, and a site; needs Chromium, Firefox and
# Node from the system.
test-browser: $(BROWSER) $(PYODIDE)
	$(BIN)/python -m pytest tests/browser

# Whether `check` says in a browser's Python what it says here; needs Node from the system. What else
# that Python is made of is fetched through npm and pip, and pinned by its hash.
test-wasm: $(PYODIDE)
	$(BIN)/python -m pytest tests/wasm

$(PYODIDE): autograder/site/site_folder.py autograder/site/npm/package-lock.json | $(READY)
	$(BIN)/python -m autograder.site.site_folder
	@touch $(PYODIDE)

# The exercises as web pages, for any static host. SITE=elsewhere puts them there.
SITE ?= my-site
site: $(PYODIDE)
	$(BIN)/attn site $(SITE) --with-answers

# A course whose gradebook is in PostgreSQL; needs the server from the system (`postgresql`).
test-postgres: $(BROWSER)
	$(BIN)/python -m pytest tests/postgres

# The pictures of the documents, retaken from the real pages; needs Chromium, too.
pictures: $(BROWSER) $(PYODIDE)
	PYTHONPATH=tests $(BIN)/python tests/browser/pictures.py

$(BROWSER): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[browser,postgres]'
	@touch $(BROWSER)

# Style, types, the pins, the proof of the graders, and that the generated assignments are up to
# date. A pin can only be checked where it is installed: those of the browser's tests too.
check: $(BROWSER)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target check-proof check-code

check-code: $(BROWSER)
	$(BIN)/python tests/project/constraints_check.py
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/attn build --check

check-proof: $(BROWSER)
	$(BIN)/attn verify --seeds 5 --matrix .matrix.md
	@diff tests/golden/matrix.md .matrix.md || { \
	  echo "error: the checks catch other mistakes than tests/golden/matrix.md says"; \
	  echo "  cure: read the lines above; if they are meant, mv .matrix.md tests/golden/matrix.md"; \
	  exit 1; }

# What `make check` takes a sample of: every mutant of every exercise.
mutants: $(READY)
	$(BIN)/attn verify --mutants all --seeds 20

# The rooms of the package, floor by floor, and what each imports; how large the package is, and how
# much of it grading one hand-in enters.
layers: $(READY)
	@$(BIN)/python tests/support/import_layers.py
	@PYTHONPATH=tests $(BIN)/python tests/support/entered_files.py

# What is said of many hand-ins in the folder TO: the sample class, known mistakes, variants, mutants
# (MUTANTS of each step), layers in one piece, and what lies in MORE/EXERCISE. FROM=another corpus takes
# its hand-ins, so that only what is said can differ; ONLY=exercises leaves out the others.
MUTANTS ?= 20
CORPUS = PYTHONPATH=tests $(BIN)/python tests/support/corpus.py
corpus: $(READY)
	@$(CORPUS) make "$(TO)" --mutants $(MUTANTS) $(if $(FROM),--source "$(FROM)") \
	  --only $(ONLY) --more $(MORE)

# What differs between two of these: facts, at which it fails, then sentences.
corpus-diff: $(READY)
	@$(CORPUS) diff "$(OLD)" "$(NEW)"

# What a hand-in costs, against plain nbgrader, pytest and the floor, as ratios in one run of about
# twenty minutes; not a test. BENCH=--page also writes docs/benchmarks.md. At the end, how long a
# learner waits.
bench: $(READY)
	PYTHONPATH=tests $(BIN)/python benchmarks/all_rows.py $(BENCH)
	$(BIN)/python benchmarks/learner_times.py

# What mistakes cost the language model of `attn play`, with the spread over five trainings: twenty
# minutes on one core. TEXT is what the model in the kit was trained on, tiny Shakespeare.
TRAININGS := .trainings
SEEDS := 1 2 3 4
costs: $(READY)
	@test -f "$(TEXT)" || { echo "error: which text?; cure: make costs TEXT=shakespeare.txt"; exit 1; }
	mkdir -p $(TRAININGS)
	for seed in $(SEEDS); do \
	  $(BIN)/python -m demo.train_character_model "$(TEXT)" $(TRAININGS)/$$seed.npz --seed $$seed || exit 1; \
	done
	PYTHONPATH=tests $(BIN)/python tests/support/cost_measurement.py $(SEEDS:%=$(TRAININGS)/%.npz)
	$(BIN)/attn build

# What mistakes do to the trainings of `attn play`: half an hour for each exercise, on one core.
# EXERCISE=vit_multi_head measures only that one.
training-costs: $(READY)
	PYTHONPATH=tests $(BIN)/python tests/support/training_measurement.py $(EXERCISE)
	$(BIN)/attn build

build: $(READY)
	$(BIN)/attn build

# No nbgrader, no tests, no PyTorch: about 20 packages. Where all the rest is, they are there.
$(LEARNER): pyproject.toml constraints.txt | $(BIN)/python
	@[ -f $(READY) ] || $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $(LEARNER)

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[course,dev,torch]'
	@touch $(READY)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed; cure: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	  { echo "error: this Python cannot make virtual environments; cure: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

clean:
	rm -rf $(VENV) .coverage $(TRAININGS) .matrix.md solutions/.proofs demo-course
