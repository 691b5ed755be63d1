# `make` alone prints the targets.
MIRROR := $(CURDIR)/.cache/mirror
STATICCHECK := .cache/bin/staticcheck
GOSEC := .cache/bin/gosec
COLLECTOR := $(CURDIR)/.cache/bin/collector
MUTANTS := $(CURDIR)/.cache/bin/mutants
PEER ?=
RUN ?=

export CGO_ENABLED := 0
# One set of flags for builds, tests and releases, so that everything is compiled once. Without
# the tag gRPC links the pages of golang.org/x/net/trace, which weir doesn't serve. They take
# 2 MiB of memory and a millisecond of every start.
export GOFLAGS := -trimpath -tags=grpcnotrace $(GOFLAGS)

.PHONY: help changelog build figures reference man docs pictures demo examples fuzz race notice release-snapshot release-twice release-check packages test unit long libraries deployments real proofs mutants lint conformance stacks-fixtures evil faults parity providers acceptance aws servers backends bench chaos kills moves affected disjoint estates temporal durable versus versus-histories tools providers-beside aws-modules page vscode pipelines windows editors lsp-moves lsp-bench ci clean soak
help: ## print the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

RELEASE := weir.dev/weir/internal/sys/buildinfo
COMMIT = $(shell git describe --always --dirty --abbrev=40 --match '' 2>/dev/null)
DATE = $(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ 2>/dev/null)
STAMP = -X $(RELEASE).commit=$(COMMIT) -X $(RELEASE).date=$(DATE)

build: ## bin/weir
	go build -ldflags '$(STAMP)' -o bin/weir ./cmd/weir

temporal: ## bin/weir-temporal: durable deployments of stacks
	cd temporal && go build -ldflags '-s -w $(STAMP)' -o ../bin/weir-temporal .

demo: build ## plan, kill an apply, recover, and ask why, with the built-in provider
	examples/demo.sh bin/weir

examples: build ## the examples, and the commands of the pages that a reader follows
	examples/demo.sh bin/weir >/dev/null
	examples/concepts.sh bin/weir >/dev/null
	examples/pages.py bin/weir docs/tutorial.md docs/how-to.md docs/switch-from-opentofu.md docs/switch-from-terraform.md docs/switch-back.md
	examples/tested.sh bin/weir >/dev/null
	examples/stacks.sh bin/weir >/dev/null
	examples/estate.sh bin/weir >/dev/null
	$(if $(wildcard $(MIRROR)),examples/estate.sh bin/weir $(MIRROR) >/dev/null)

export WEIR_MIRROR
# The packages on the way from text to states, each by its own tests.
COVERED := lang/syntax lang/module lang/compiler lang/compiler/calls lang/compiler/literal lang/program lang/symbols \
  eval eval/static eval/checks eval/deprecated resource/contract resource/lifecycle resource/instance resource/providerclient resource/checkresults \
  plan plan/execgraph plan/planner plan/prior plan/targeting plan/relevantattrs plan/refgraph plan/graphbuilder plan/order plan/moves plan/configgen plan/planfile plan/why \
  apply engine engine/validate state state/statefile
test: ## install what tests need; unit tests with coverage, library, examples, conformance
	@scripts/steps packages unit libraries build examples conformance

unit: ## unit tests in short form; each package from text to states covers 75 % of itself
	@scripts/unit $(COVERED)

# Packages whose tests do less with -short, as make unit runs them.
LONG = $(sort $(dir $(shell grep -rl --include='*_test.go' 'testing\.Short()' cmd internal bench test)))
long: build ## whole form of the tests that make unit shortens
	WEIR=$(CURDIR)/bin/weir go test -count=1 -vet=off -timeout 30m $(LONG:%=./%)

# The batch module allows older releases of gRPC than weir has. Its tests run with weir's, as
# the simulated provider does, so that gRPC is compiled once.
libraries: ## tests of programs that embed or drive weir, of the kit and the small AWS
	cd test/libraries && go test -vet=off ./...
	cd examples/embed && go test -vet=off ./...
	go test -C test/conformance/simcloud -vet=off weir.dev/weir/batch/...
	cd test/conformance && go test -vet=off ./...
	cd test/cloud && go test -vet=off ./...
	cd test/acceptance && go test -vet=off ./engine

deployments: ## unit tests of durable deployments, which compile parts of Temporal
	cd temporal && go test -vet=off ./access ./depot ./flow ./work

# Conformance cases name what they need in a line such as "[!real-providers] skip".
real: build ## tests that need the real providers of make providers
	WEIR_MIRROR=$(MIRROR) go test -count=1 -run 'TestProcesses|TestInstalled' .
	cd test/libraries && WEIR_MIRROR=$(MIRROR) go test -count=1 ./interop
	$(MAKE) conformance RUN="$$(cd test/conformance/cases && grep -rlF '[!real-providers]' . | sed 's,^./,^,; s,.txtar$$,,' | paste -sd'|')"

# What comes from outside: texts, and files that others write.
# With TURN=8 only eight targets, others for each commit.
TURN ?=
FUZZED ?= $(shell scripts/rotation $(TURN))
FUZZTIME ?= 60s
fuzz: ## made-up input for what reads texts and files, and for evaluating; FUZZTIME=60s for each, TURN=8 or FUZZED=lang/syntax:FuzzParse picks
	@scripts/fuzz $(FUZZTIME) $(FUZZED)

# What many goroutines work on at once. The detector needs a C compiler.
RACED := ./internal/core/promise ./internal/apply ./internal/workspace/lockedstate ./internal/resource/batch ./internal/resource/providerclient ./internal/resource/ratelimit ./internal/state/journal ./internal/state/storage/... ./internal/ui/daemon ./internal/ui/webrun ./internal/ui/webui ./internal/ui/telemetry ./internal/ui/terminal ./internal/net/stalltimeout
race: ## the race detector on what is concurrent, where there is a C compiler
	@! command -v cc >/dev/null || CGO_ENABLED=1 go test -race $(RACED)
	@! command -v cc >/dev/null || (cd examples/embed && CGO_ENABLED=1 go test -race ./service ./platform)
	@! command -v cc >/dev/null || (cd test/libraries && CGO_ENABLED=1 go test -race ./inprocess)

# What gosec looks for, but for rules that don't fit a program whose work it is to read and
# write the files it is told of and to run other programs:
# G104 errors nobody looks at: of builders, which never fail, and of closing what is given up;
#      those that matter are made to fail by internal/testing/crash and internal/testing/simulation
# G204 programs that settings name: git, PostgreSQL's, credential helpers, provisioners
# G301, G302, G306 modes: umask decides, as for what peers write; what has secrets has 0600
# G304 files whose names are given: configurations, states, plans
# G401, G501, G505 MD5 and SHA-1: functions of the language, and checksums servers ask for
# What is right in spite of a rule has "#nosec RULE" and the reason in its line.
UNSUITED := G104,G204,G301,G302,G304,G306,G401,G501,G505
SECURED := -exclude-dir=internal/testing -exclude-dir=internal/state/storage/testservers . ./cmd/... ./internal/...

lint: $(STATICCHECK) $(GOSEC) ## formatting, vet, staticcheck, gosec, tidy modules, imports allowed per package
	@badly=$$(gofmt -l *.go weirtest batch examples cmd internal bench test temporal tools); \
	  [ -z "$$badly" ] || { echo "not formatted by gofmt:"; echo "$$badly"; exit 1; }
	go vet ./...
	cd test/libraries && go vet ./...
	cd examples/embed && go vet ./...
	cd batch && go vet ./...
	cd test/conformance && go vet ./...
	cd test/conformance/simcloud && go vet ./...
	cd test/cloud && go vet ./...
	cd test/acceptance && go vet ./...
	cd test/backends && go vet ./...
	cd test/tools/terratest && go vet ./...
	cd temporal && go vet ./access ./depot ./flow ./rounds ./work # the others compile Temporal's server: make durable
	go test -count=1 ./internal/testing/lint
	cd tools/release && go vet . && go test .
	cd tools && go vet ./... && go test -count=1 ./... && go run ./notice -check # anew: pages are outside of the module, so that their changes go unnoticed
	$(STATICCHECK) ./...
	$(GOSEC) -quiet -exclude-generated -exclude=$(UNSUITED) $(SECURED)
	go mod tidy -diff
	cd test/libraries && go mod tidy -diff
	cd examples/embed && go mod tidy -diff
	cd batch && go mod tidy -diff
	cd test/conformance && go mod tidy -diff
	cd test/conformance/simcloud && go mod tidy -diff
	cd test/cloud && go mod tidy -diff
	cd test/acceptance && go mod tidy -diff
	cd test/backends && go mod tidy -diff
	cd test/tools/terratest && go mod tidy -diff
	cd temporal && go mod tidy -diff
	cd tools && go mod tidy -diff
	cd tools/collector && go mod tidy -diff

figures: ## what the tree looks like in numbers: method sets, fields, imports, lines; for readers, nothing fails
	cd tools && go run ./figures -root ..

HISTORIES ?= 10000
HOURS ?= 0
SOAK ?= 1
GRIDS ?= 20000
CASES ?= 10000
soak: ## simulated histories with crashes, lost answers and other engines: HISTORIES=10000, or HOURS=8; with references between instances: GRIDS=20000; and plans and applies without crashes: CASES=10000; SOAK=SEED is the first
	go test -count=1 -timeout 0 -v -run TestHistories ./internal/testing/simulation -args -seed $(SOAK) -histories $(HISTORIES) -hours $(HOURS)
	go test -count=1 -timeout 0 -v -run TestGrids ./internal/testing/simtest -args -first $(SOAK) -grids $(GRIDS)
	go test -count=1 -timeout 0 -run TestRandom ./internal/testing/simtest -args -first $(SOAK) -cases $(CASES)

reference: ## write docs/reference anew, from the table of commands
	go run ./cmd/reference -pages docs/reference

MAN := .cache/man
page: build ## clicks through the page of weir ui in Chromium, where there is one; no part of make ci
	cd test/browser && go vet ./... && WEIR=$(CURDIR)/bin/weir go test -count=1 ./...

vscode: ## tools/vscode/weir.vsix, the extension for VS Code; needs npm
	cd tools/vscode && npm ci --no-fund --no-audit && npx vsce package --skip-license --allow-missing-repository -o weir.vsix

pipelines: build ## the action setup-weir, in tools/setup-weir/dist, and the template for GitLab, with tests of both; needs npm and rsync
	cd tools/setup-weir && npm ci --no-fund --no-audit && npm run -s build && npm test
	tools/gitlab/test bin/weir

windows: ## build bin/weir.exe, and use it with wine, where there is one
	GOOS=windows GOARCH=amd64 go build -ldflags '$(STAMP)' -o bin/weir.exe ./cmd/weir
	test/windows/run bin/weir.exe

editors: build ## use the language server from Neovim, where there is one
	test/editors/run bin/weir

MODULES ?= 1000
lsp-moves: ## rename and refactor random modules with a state, MODULES=1000 from FIRST=0: plans stay empty
	LSP_MODULES=$(MODULES) LSP_FIRST=$(FIRST) go test -count=1 -timeout 0 -v -run 'PlansNothing|PlanNothing' ./internal/ui/lsp

TERRAFORM_LS ?= $(shell command -v terraform-ls)
lsp-bench: build ## compare the language server with terraform-ls in REPO=CLONE of a repository with hashicorp/aws; MIRROR=DIR has the providers, DIRECTORIES=CLONE is for memory only
	@test -n '$(REPO)$(DIRECTORIES)' || echo 'skipped: REPO=CLONE names no repository'
	@test -z '$(REPO)' || test -n '$(TERRAFORM_LS)' || echo 'only weir is measured: terraform-ls is not in PATH, and TERRAFORM_LS=FILE does not name it'
	$(if $(REPO),python3 bench/lsp.py -prepare $(abspath $(REPO)) $(MIRROR) $(CURDIR)/bin/weir)
	$(if $(REPO),python3 bench/lsp.py $(abspath $(REPO)) $(CURDIR)/bin/weir $(TERRAFORM_LS))
	$(if $(DIRECTORIES),python3 bench/lsp.py -directories $(abspath $(DIRECTORIES)) $(CURDIR)/bin/weir)

man: ## the manual as pages of man, in .cache/man
	go run ./cmd/reference -man $(MAN) -version 0.1.0

docs: ## the pages as a site, in .cache/site; fails on links that lead nowhere
	cd tools && go run ./site -root=.. -out=$(CURDIR)/.cache/site -version 0.1.0-dev

# Chromium takes those of the pages, in the test that clicks through the demo.
SHOTS := $(CURDIR)/.cache/shots
pictures: build ## record make demo and its pages, docs/images, and draw the chart from bench's recorded table
	scripts/record bin/weir docs/images/terminal.svg
	bench/chart.py
	rm -rf $(SHOTS) && mkdir -p $(SHOTS)
	cd test/browser && WEIR=$(CURDIR)/bin/weir SHOTS=$(SHOTS) go test -count=1 -run 'TestDemo|TestBoard|TestReport' ./...
	cp $(SHOTS)/ui.png $(SHOTS)/run.png $(SHOTS)/plan-page.png $(SHOTS)/plan-graph.png docs/images
	cp $(SHOTS)/board-approve.png docs/images/board.png

notice: ## write NOTICE anew: the licences of all modules that the program is made of
	cd tools && go run ./notice

# The key of snapshots is created at the first use. Releases take theirs with SIGN_KEY=FILE.
SIGN_KEY ?= $(CURDIR)/.cache/release/key.pem
ROOTFS := $(CURDIR)/.cache/release
RELEASE_ARCHS ?= amd64 arm64
RELEASE_VERSION ?= 0.1.0-pre$(shell TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S 2>/dev/null)
release-snapshot: ## signed release of the work tree in dist/: archives, packages, image, formula, SBOMs, provenance; needs Debian's mmdebstrap; SIGN_KEY=FILE
	scripts/packages release
	scripts/rootfs $(ROOTFS) $(RELEASE_ARCHS)
	cd tools/release && go run . -root ../.. -out $(CURDIR)/dist -version $(RELEASE_VERSION) -commit $(COMMIT) -date $(DATE) \
	  -key '$(SIGN_KEY)' -rootfs $(ROOTFS) $(RELEASEFLAGS)

release-twice: ## build the release of the last commit twice and compare the files byte by byte
	scripts/release-twice $(MAKEOVERRIDES)

release-check: ## install the packages of dist/ in a Debian system, run the image, the install script and the action; needs root
	scripts/release-check

# The tool has a module of its own, so that its dependencies are not the engine's.
$(STATICCHECK): tools/go.mod tools/go.sum
	cd tools && go build -o ../$@ honnef.co/go/tools/cmd/staticcheck
	@touch $@

# A third module: what it needs is more than all others have.
$(GOSEC): tools/gosec/go.mod tools/gosec/go.sum
	cd tools/gosec && go build -trimpath -o ../../$@ github.com/securego/gosec/v2/cmd/gosec
	@touch $@

$(COLLECTOR): tools/collector/go.mod tools/collector/go.sum tools/collector/main.go
	cd tools/collector && go build -o $@ .
	@touch $@

conformance: build ## the conformance cases against bin/weir; RUN=REGEXP picks some, DAEMON=1 has a daemon do what it does of them
	cd test/conformance && IAC_BIN=$(CURDIR)/bin/weir IAC_MIRROR=$(wildcard $(MIRROR)) \
	  go run . -expected expected-failures.txt $(if $(DAEMON),-daemon) -run '$(RUN)'

stacks-fixtures: build ## init and validate every stack below FROM=DIR, with stand-ins for its providers
	cd test/conformance && go run ./stackdirs -bin $(CURDIR)/bin/weir $(FROM)

providers: ## build real providers into .cache/mirror
	test/providers/build.sh $(MIRROR)

acceptance: build ## the real providers' own tests with bin/weir; RUN='random time' picks some
	@[ -d $(MIRROR) ] || { echo "run 'make providers' first"; exit 1; }
	test/providers/acceptance.sh bin/weir $(MIRROR) $(RUN)

aws: build ## the real hashicorp/aws, where it is found, with a small AWS: a bucket, an estate
	cd test/acceptance && IAC_BIN=$(CURDIR)/bin/weir go test -count=1 -timeout 30m -v ./aws

SOURCES ?=
servers: build ## providers from clones below SOURCES with PostgreSQL, BIND and PowerDNS; RUN=DNS picks
	scripts/packages servers
	$(if $(SOURCES),test/providers/clones.sh $(SOURCES) $(MIRROR))
	cd test/acceptance && WEIR_MIRROR=$(MIRROR) IAC_BIN=$(CURDIR)/bin/weir go test -count=1 -timeout 30m -v -run '$(RUN)' ./servers

backends: build $(COLLECTOR) ## backends with real servers, and another engine on the same states where PEER=BINARY; RUN picks
	cd test/backends && IAC_BIN=$(CURDIR)/bin/weir COLLECTOR=$(COLLECTOR) PEER=$(if $(PEER),$(abspath $(PEER))) go test -count=1 -timeout 40m -run '$(RUN)' ./...

bench: build temporal ## time bin/weir and compare with the goals; RUN=count picks, PEER='BIN BIN' adds other engines to RUN=tests, HUGE=1 adds 100,000 instances, RECORD=1 keeps the table
	go build -o bench/gen ./bench
	go build -o bench/bare/bare ./bench/bare
	go build -C test/conformance/simcloud -o $(CURDIR)/.cache/sim/terraform-provider-sim .
	go build -C test/cloud -o $(CURDIR)/.cache/bin/smallaws ./cmd/smallaws
	cd test/chaos/provider-chaos && go build -o ../bin/terraform-provider-chaos .
	python3 bench/suite.py -b $(CURDIR)/bin/weir --bare $(CURDIR)/bench/bare/bare --sim $(CURDIR)/.cache/sim $(if $(wildcard $(MIRROR)),--mirror $(MIRROR)) $(if $(wildcard $(AWS_MIRROR)/*/hashicorp/aws),--aws $(AWS_MIRROR) --smallaws $(CURDIR)/.cache/bin/smallaws) $(PEER:%=--peer %) $(if $(HUGE),--huge) $(if $(RECORD),--record) $(RUN:%='%')
	$(if $(RECORD),bench/chart.py)

CHECKOUT ?=
changelog: ## compare docs/proofs/changelog.txt with clones of OpenTofu or Terraform, CHECKOUT='DIR DIR'; writes the table of docs/changelog-gate.md
	go run ./test/changelog -page docs/changelog-gate.md $(abspath $(CHECKOUT))

WORKLOADS ?= static:data:1000,4000 count:data:300,1000 modules:data:100,300 chain:data:500,1000 dense:data:100,200:-degree=50
parity: build ## ask bin/weir what it accepts of what its peers do, for docs/parity.md
	go run ./test/surface

versus: build ## time bin/weir beside another engine, PEER=BINARY; WORKLOADS=... picks
	go build -o bench/gen ./bench
	@mkdir -p .cache && rm -f .cache/bench.jsonl
	bench/bench.py -o .cache/bench.jsonl -l 240 -e weir=$(CURDIR)/bin/weir -e peer=$(PEER) $(WORKLOADS:%=-w %)
	bench/table.py .cache/bench.jsonl

N ?= 100
# The seed of a commit: each has other histories and mutants.
COMMIT_SEED := $(shell printf %d 0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1))
SEED ?= $(COMMIT_SEED)
versus-histories: build ## play random histories beside another engine, PEER=BINARY; N=100, SEED (of the commit), VERSUS=FLAGS
	go run ./test/differential -peer $(PEER) -n $(N) -seed $(SEED) $(VERSUS)

versus-texts: build ## compare the text of random plans with another engine, PEER=BINARY; N=500 SEED=1 VERSUS=FLAGS
	go run ./test/differential -texts -peer $(PEER) -n $(N) -seed $(SEED) $(VERSUS)

OPENTOFU ?=
providers-beside: build ## schema, validate and plan of real providers with bin/weir and with OPENTOFU=BINARY; MIRROR=DIR has the providers, RUN picks, RECORD=1 writes docs/providers.md
	test/providers/beside.py bin/weir '$(OPENTOFU)' $(MIRROR) $(if $(RECORD),-page docs/providers.md -commit $(shell git rev-parse --short=8 HEAD)) $(RUN)

TOOLS ?=
tools: build ## run other tools, such as terragrunt, with bin/weir and with OPENTOFU=BINARY; TOOLS=DIR has more of them, RUN='tflint tfcmt' picks, RECORD=1 writes docs/tools.md
	-test/tools/install.sh .cache/tools $(RUN)
	go run ./test/tools -peer '$(OPENTOFU)' -path '$(CURDIR)/.cache/tools:$(TOOLS)' -mirror '$(wildcard $(MIRROR))' -run '$(subst $(eval) ,|,$(strip $(RUN:%=^%$$)))' \
	  $(if $(RECORD),-page docs/tools.md -commit $(shell git rev-parse --short=8 HEAD))

REPOS ?=
AWS_MIRROR ?= $(MIRROR)
aws-modules: build ## public AWS modules beside another engine: REPOS=CLONES PEER=BINARY, AWS_MIRROR=DIR with hashicorp/aws; ONLY=engine and RUN=REGEXP narrow it
	go run -C test/cloud ./modules -repos $(abspath $(REPOS)) -engine $(CURDIR)/bin/weir -peer $(abspath $(PEER)) -mirror $(abspath $(AWS_MIRROR)) \
	  -out $(CURDIR)/.cache/aws-modules -run '$(RUN)' $(if $(ONLY),-only $(ONLY)) -report $(CURDIR)/.cache/aws-modules/report.md

# The scenarios whose outcome doesn't hang on the moment of a kill or signal; the
# crash points of every write are in internal/testing/crash.
FAULTS := stack_kill9,http_kill9,empty_state,disk_full,readonly_dir,http_put_fails,stale_plan,order,secrets,ansi
chaos: build ## faults while an apply runs; RUN=kill9,order picks
	cd test/chaos/provider-chaos && go build -o ../bin/terraform-provider-chaos .
	test/chaos/chaos.py --bin $(CURDIR)/bin/weir $(if $(RUN),--only $(RUN)) $(CHAOS)

DURABLE := durable,durable_roots
durable: build temporal ## deployments and root modules on Temporal while workers are killed: CHAOS='--n 2000 --trials 20' for 200 of ten components; --workers=0 is the same in one process
	cd test/chaos/provider-chaos && go build -o ../bin/terraform-provider-chaos .
	test/chaos/chaos.py --bin $(CURDIR)/bin/weir --only $(or $(RUN),$(DURABLE)) $(if $(CHAOS),$(CHAOS),--n 80 --trials 3)

evil: build ## each way to misbehave in each call of a provider, with both protocols; writes the table of docs/trust.md
	WEIR=$(CURDIR)/bin/weir go test -count=1 -timeout 60m ./test/chaos/evil -args -full -table $(CURDIR)/docs/trust.md

# Compile once, then change one place after the other. docs/proofs/mutants.txt has the changes
# without a difference.
mutants: ## change the engine in N=100 places, one at a time, and print those that no test notices; SEED, RECORD=1 writes docs/mutation.md
	cd tools && go build -o $(MUTANTS) ./mutants
	$(MUTANTS) -root . -n $(N) -seed $(SEED) -commit $(shell git rev-parse --short=8 HEAD) $(if $(RECORD),-table docs/mutation.md)

INJECT ?= 5500
ENDS ?= 1100
TABLE ?= $(CURDIR)/docs/trust.md
faults: build ## each operation of the file system fails, or the engine is killed there (needs /dev/fuse): INJECT=5500 ENDS=1100, RUN=REGEXP picks commands; writes the table of docs/trust.md
	cd test/chaos/faults && go vet . && go run . -bin $(CURDIR)/bin/weir -faults $(INJECT) -kills $(ENDS) -only '$(RUN)' -commit $(shell git rev-parse --short HEAD) -table '$(TABLE)'

KILLS ?= 500
kills: build ## kill -9 while objects are made, the next run in another directory: KILLS=500 for each of files, http and PostgreSQL
	cd test/chaos/provider-chaos && go build -o ../bin/terraform-provider-chaos .
	go run ./test/chaos/with-postgres test/chaos/chaos.py --bin $(CURDIR)/bin/weir --only machines --trials $(KILLS) --n 300 $(CHAOS)

moves: build ## kill -9 while objects move between states, the next run in another directory: KILLS=500 between files, http, PostgreSQL and S3; and while a stack adopts roots; SEED=1 picks them
	cd test/backends && IAC_BIN=$(CURDIR)/bin/weir MOVES=$(KILLS) ADOPTIONS=$(KILLS) SEED=$(SEED) go test -count=1 -timeout 0 -v -run '$(or $(RUN),TestMoves|TestAdopt)' ./migration

APPLIES ?= 50
OBJECTS ?= 20000
ROUNDS ?= 2
disjoint: ## applies side by side on one state, each killed: APPLIES=50, OBJECTS=20000, ROUNDS=2; and 200 random histories of locks
	go test -count=1 -timeout 0 -v -run TestDisjointApplies ./internal/testing/crash -args -disjoint=$(APPLIES) -disjoint-objects=$(OBJECTS) -disjoint-rounds=$(ROUNDS)
	go test -count=1 -timeout 0 -v -run TestHistories ./internal/state/storage/database -args -histories=200

ESTATES ?= 2000
estates: ## apply all roots of random estates and kill it, beside one large root: ESTATES=2000, FIRST=0 is the first
	HISTORIES=$(ESTATES) FIRST=$(FIRST) go test -count=1 -timeout 0 -v -run TestEstates ./internal/testing/crash

EDITS ?= 1000
affected: ## compare roots -affected with brute force: EDITS=1000 random edits of estates
	EDITS=$(EDITS) go test -count=1 -timeout 0 -v -run TestAffected ./internal/roots

packages: ## Debian packages that tests need: a PostgreSQL server, Python for chaos
	@scripts/packages

ci: ## what must hold before a change lands: make test, then make proofs
	$(MAKE) test
	$(MAKE) proofs

# One acceptance suite whole, and the faults in short form; everything else in full. Some
# histories are new for each commit. The fuzz targets are those that have run for hours: make
# fuzz TURN=8 has the others in turn, until they have too.
STEADY := lang/syntax:FuzzParse lang/syntax:FuzzUsual incremental/sourceblocks:FuzzPieces testing/scripttest:FuzzEvaluate state/statefile:FuzzRead plan/planfile:FuzzDecode state/journal:FuzzRead provider/lockfile:FuzzParse
proofs: ## lint, real providers and servers, simulation, fuzzing, faults: half an hour
	@scripts/steps lint long providers real deployments 'soak GRIDS=2000' 'soak HISTORIES=100 GRIDS=100 CASES=100 SOAK=$(COMMIT_SEED)' 'fuzz FUZZTIME=15s FUZZED="$(STEADY)"' race backends \
	  "acceptance RUN='echoprovider time'" \
	  "faults INJECT=250 ENDS=60 RUN='^(plan|apply|destroy|refresh|state|import|taint|workspace|init|fmt)' TABLE=" \
	  "chaos RUN=$(FAULTS) CHAOS='--n 60 --trials 2'"

clean: ## remove what was built, but not the provider mirror
	rm -rf bin dist bench/gen bench/bare/bare test/chaos/bin $(STATICCHECK) $(GOSEC) $(COLLECTOR) $(MUTANTS)
