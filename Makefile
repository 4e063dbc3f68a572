# Builds, checks and installs Jostle. `make` without a target lists the targets. Longer recipes are scripts in Scripts/.

# Also finds a Swift that is installed but not on PATH, and Debian's mosquitto in /usr/sbin.
export PATH := $(PATH):$(shell Scripts/search-path)

# The compiler keeps a cache in the home directory. A user without one, as in a container, gets one here.
ifneq ($(shell test -w "$$HOME" && echo writable),writable)
export HOME := $(CURDIR)/.build/home
endif

# The directories of `install`; DESTDIR stages them for a package. systemd, udev and sysusers also read their files from
# /usr/local/lib.
PREFIX     ?= /usr/local
bindir     ?= $(PREFIX)/bin
libdir     ?= $(PREFIX)/lib
bashdir    ?= $(PREFIX)/share/bash-completion/completions
zshdir     ?= $(PREFIX)/share/zsh/site-functions
fishdir    ?= $(PREFIX)/share/fish/vendor_completions.d
mandir     ?= $(PREFIX)/share/man
docdir     ?= $(PREFIX)/share/doc/jostle
datadir    ?= $(PREFIX)/share/jostle
sysconfdir ?= /etc

units = jostle.service jostle@.service jostle-run.socket jostle-run@.service \
    jostle-upgrade.service jostle-upgrade.path jostle-upgrade.timer

# Programs that are packages of their own: the web page, and virtual boards for tests.
others = jostle-page jostle-swarm

# The program to install, and what runs it here. A cross build sets its own. `install` also installs PROGRAMS, by default
# those of the others that are beside it.
BINARY   ?= .build/release/jostle
PROGRAMS ?= $(notdir $(wildcard $(addprefix $(dir $(BINARY)),$(others))))
RUN      ?=
STRIP    ?= strip

# The configuration of a first installation. A fleet sets its own.
CONFIGURATION ?= config/jostle.yaml

# Installs the unit $$unit with the directories of this installation.
install_unit = sed -e 's|/usr/local/bin|$(bindir)|' -e 's|/usr/local/lib|$(libdir)|' \
    -e 's|/usr/local/share/doc/jostle|$(docdir)|' deploy/systemd/$$unit \
    >$(DESTDIR)$(libdir)/systemd/system/$$unit && chmod 644 $(DESTDIR)$(libdir)/systemd/system/$$unit

# What is linked beside it: every key with its default, and the schema for an editor.
references = jostle.reference.yaml jostle.schema.json

# Where `deb-arm64` and `deb-amd64` keep the compiler and the libraries that they fetch from Debian: 3.5 GB.
CROSS ?= .build/cross

# The arguments of the program in `make run`.
ARGS ?= demo

# For `jostle --version`.
commit = $(shell Scripts/package-version --commit)

.DEFAULT_GOAL := help
.PHONY: FORCE help setup build run deb deb-arm64 deb-amd64 release repository test test-all bench lint docs docs-reference docs-pictures install uninstall clean

help: ## List the targets
	@echo 'usage: make TARGET'
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

setup: ## Install missing packages for building (Debian 12 and 13, Raspberry Pi OS)
	@Scripts/setup

build: .build/release/built ## Build the release programs

# SwiftPM plans for several seconds until it knows that there is nothing to do; make knows it at once. The list has the
# directories too, which change if a file goes. SwiftPM does not see that the order of the functions has changed.
.build/release/built: Package.swift Scripts/swift-build Scripts/functions-that-run .build/commit $(shell find Sources) | setup
	@echo 'Building the programs. The first time, this takes several minutes.'
	@rm -f $(if $(filter Scripts/functions-that-run,$?),$(addprefix .build/release/,jostle $(others)))
	for product in jostle $(others); do \
	    JOSTLE_COMMIT=$(commit) Scripts/swift-build release --product $$product || exit 1; \
	done
	@touch $@

.build/commit: FORCE
	@mkdir -p .build
	@echo '$(commit)' | cmp -s - $@ || echo '$(commit)' >$@

run: build ## Build the program and run the demonstration; ARGS='…' runs another subcommand
	@.build/release/jostle $(ARGS)

test: ## Check the style, build with warnings as errors, run all tests; FILTER=… selects tests
	@Scripts/setup test
	@Scripts/test $(FILTER)

test-all: deb ## Run the checks that take too long for every commit; DIRECTORY=… keeps what they need
	@Scripts/test-all $(or $(DIRECTORY),.build/all)

deb: build ## Build the Debian packages of this suite into .build/packages
	@Scripts/build-deb

deb-arm64: ## Build the arm64 packages for Debian 13 and Raspberry Pi OS on a PC into .build/packages
deb-amd64: ## Build the amd64 packages for Debian 13 on a PC with Debian 12 into .build/packages
deb-arm64 deb-amd64: deb-%:
	@Scripts/setup cross
	@deploy/cross/fetch $(CROSS) $*
	@deploy/cross/build $(CROSS) .build/$* $*
	@Scripts/build-deb --binary .build/$*/release/jostle --suite 13 --sysroot $(CROSS)/sysroot$(if $(filter amd64,$*),-amd64)

release: ## Build all that a release consists of into .build/release-VERSION
	@CROSS=$(CROSS) Scripts/release

repository: ## Add packages to a signed apt repository: DIRECTORY=… KEY=… [PACKAGES='…']
	@Scripts/make-repository '$(DIRECTORY)' '$(KEY)' $(PACKAGES)

bench: setup ## Build and run the benchmarks
	Scripts/swift-build release --product jostle-bench
	@.build/release/jostle-bench

lint: ## Check the style of the Swift files, and the scripts
	@Scripts/lint

docs: setup ## Build the documentation of the library MotionKit into .build/docs
	@Scripts/build-docs

docs-reference: setup ## Regenerate the tables in docs/configuration.md and docs/metrics.md
	@JOSTLE_WRITE_DOCS=1 Scripts/test 'KeyReferenceTests|MetricsReferenceTests'

docs-pictures: ## Take the pictures of the web page and of the demonstration in docs/ again
	@Scripts/setup test
	@JOSTLE_WRITE_DOCS=1 Scripts/test 'BrowserTests.Screenshots|DemoPictureTests'

install: ## Install the programs and their services (as root, after `make build`)
	@test -x $(BINARY) || { echo "There is no $(BINARY) yet: run 'make build' first." >&2; exit 1; }
	install -d $(addprefix $(DESTDIR),$(bindir) $(bashdir) $(zshdir) $(fishdir) $(docdir)/mosquitto $(datadir)/examples)
	install -d $(DESTDIR)$(sysconfdir)/jostle/conf.d
	install -d -m 700 $(DESTDIR)$(sysconfdir)/jostle/credentials
	install -d $(addprefix $(DESTDIR)$(libdir)/,systemd/system udev/rules.d modules-load.d sysusers.d jostle)
	install -m 755 -s --strip-program=$(STRIP) $(BINARY) $(DESTDIR)$(bindir)/jostle
	for unit in $(filter-out jostle@.service,$(units)); do $(install_unit) || exit 1; done
	cd $(DESTDIR)$(libdir)/systemd/system && sed -f $(CURDIR)/deploy/systemd/instance.sed jostle.service \
	    >jostle@.service && chmod 644 jostle@.service
	install -m 755 deploy/upgrade/jostle-upgrade deploy/user/create-user $(DESTDIR)$(libdir)/jostle/
	install -m 644 deploy/udev/60-jostle.rules $(DESTDIR)$(libdir)/udev/rules.d/
	install -m 644 deploy/modules-load.d/jostle.conf $(DESTDIR)$(libdir)/modules-load.d/
	install -m 644 deploy/sysusers.d/jostle.conf $(DESTDIR)$(libdir)/sysusers.d/
	install -m 644 deploy/completions/jostle.bash $(DESTDIR)$(bashdir)/jostle
	install -m 644 deploy/completions/jostle.zsh $(DESTDIR)$(zshdir)/_jostle
	install -m 644 deploy/completions/jostle.fish $(DESTDIR)$(fishdir)/
	umask 022 && $(RUN) $(BINARY) manual $(DESTDIR)$(mandir)
	install -m 644 $(addprefix config/,$(references)) $(DESTDIR)$(datadir)/
	ln -sf $(addprefix $(datadir)/,$(references)) $(DESTDIR)$(sysconfdir)/jostle/
	install -m 644 config/examples/*.yaml $(DESTDIR)$(datadir)/examples/
	for file in $(shell find deploy/home-assistant -type f); do \
	    install -m 644 -D $$file $(DESTDIR)$(datadir)/$${file#deploy/} || exit 1; \
	done
	install -m 644 -D -t $(DESTDIR)$(datadir)/grafana config/grafana/jostle.json
	install -m 644 -D -t $(DESTDIR)$(datadir)/integrations config/integrations/*.*
	install -m 644 -D -t $(DESTDIR)$(datadir)/integrations/openhab config/integrations/openhab/*
	install -m 644 deploy/learn/everyday-movement $(DESTDIR)$(datadir)/
	install -m 644 config/mosquitto/jostle.conf config/mosquitto/acl $(DESTDIR)$(docdir)/mosquitto/
	Scripts/install-docs $(DESTDIR)$(docdir) $(DESTDIR)$(datadir)
	@test -e $(DESTDIR)$(sysconfdir)/jostle/jostle.yaml \
	    && echo 'Kept $(DESTDIR)$(sysconfdir)/jostle/jostle.yaml.' \
	    || install -v -m 640 $(CONFIGURATION) $(DESTDIR)$(sysconfdir)/jostle/jostle.yaml
	@test -e $(DESTDIR)$(sysconfdir)/jostle/programs || install -m 644 config/programs $(DESTDIR)$(sysconfdir)/jostle/
	for program in $(PROGRAMS); do $(MAKE) --no-print-directory install-$$program || exit 1; done
	@test -n '$(DESTDIR)' || Scripts/after-install $(libdir) $(sysconfdir)

# The package of another program has only these; its words are completed as those of jostle are.
install-jostle-%:
	install -d $(addprefix $(DESTDIR),$(bindir) $(bashdir) $(fishdir))
	install -m 755 -s --strip-program=$(STRIP) $(dir $(BINARY))jostle-$* $(DESTDIR)$(bindir)/
	ln -sf jostle $(DESTDIR)$(bashdir)/jostle-$*
	ln -sf jostle.fish $(DESTDIR)$(fishdir)/jostle-$*.fish
	unit=jostle-$*.service; test ! -e deploy/systemd/$$unit \
	    || { install -d $(DESTDIR)$(libdir)/systemd/system && $(install_unit); }
	test ! -e deploy/sysusers.d/jostle-$*.conf \
	    || install -m 644 -D -t $(DESTDIR)$(libdir)/sysusers.d deploy/sysusers.d/jostle-$*.conf

uninstall: ## Remove the installed files; keep configuration, state and users
	@test -n '$(DESTDIR)' || Scripts/before-uninstall
	for program in jostle $(others); do \
	    rm -f $(addprefix $(DESTDIR),$(bindir)/$$program $(bashdir)/$$program $(fishdir)/$$program.fish) || exit 1; \
	done
	rm -f $(DESTDIR)$(zshdir)/_jostle
	rm -f $(addprefix $(DESTDIR)$(mandir)/,man1/jostle.1 man1/jostle-*.1 man5/jostle.yaml.5)
	rm -f $(addprefix $(DESTDIR)$(sysconfdir)/jostle/,$(references))
	for directory in conf.d credentials; do \
	    test ! -d $(DESTDIR)$(sysconfdir)/jostle/$$directory \
	        || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(sysconfdir)/jostle/$$directory || exit 1; \
	done
	rm -rf $(addprefix $(DESTDIR),$(datadir) $(docdir) $(libdir)/jostle)
	rm -f $(addprefix $(DESTDIR)$(libdir)/,$(addprefix systemd/system/,$(units) jostle-page.service) \
	    udev/rules.d/60-jostle.rules modules-load.d/jostle.conf sysusers.d/jostle.conf sysusers.d/jostle-page.conf)

clean: ## Remove all build products
	rm -rf .build
