# A thin front: each target is one script of tools/, which does all set-up it needs and says
# what it installs. The build itself is Meson's (meson.build).
#
#     make demo           train a small network, record it, print where the time went
#     make test           all tests (5 to 10 minutes)
#     make bench          rates beside those of peers; JSON=path writes them too
#     make install        command, library, headers, manuals to PREFIX; the package for Python
#     make check-all      what takes longer: Clang, sweeps, fuzzing, Valgrind (about an hour)
#     make update-golden  take the present output as expected; read the diff, then commit
#     make setup          only install what demo and test need
#     make clean          remove build/ and out/
.PHONY: help demo test bench install check-all update-golden setup clean

help:
	@sed -n 's/^#     //p' Makefile

demo:
	@tools/demo.sh

test:
	@tools/test.sh quick

bench:
	@tools/bench.sh $(if $(JSON),"$(JSON)")

install:
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" tools/install.sh

check-all:
	@tools/test.sh all

update-golden:
	@tools/update_golden.sh

setup:
	@tools/setup.sh build torch test

clean:
	rm -rf build out
