"""Only what pyproject.toml cannot say: the compiled kernel, that the build goes on without a compiler, and addresses.

Without it `semtropy.entropy` runs the same mathematics in NumPy, more slowly; a test holds the two together.
"""

import os
import re
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = "semtropy.entropy._native"
FOLDER = Path("src", *PACKAGE.split("."))
NAMES = ("contour", "distribution")
# Never -ffast-math: under it a check for NaN may be compiled away. These are the parts that vectorised loops need.
UNIX_FLAGS = [
    "-O3",
    "-std=c11",
    "-fopenmp-simd",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
]
# Free-threaded builds of Python have no stable ABI.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")
# SEMTROPY_KERNEL=off builds the wheel for platforms without a compiler; on fails where the kernel cannot be built.
KERNEL = os.environ.get("SEMTROPY_KERNEL", "optional")
WITHOUT = "the compiled kernel was not built: semtropy will run its NumPy form instead, more slowly"


class BuildKernel(build_ext):
    """Leaves no kernel of an older source behind when this one cannot be compiled, and says that there is none."""

    def run(self):
        if self.inplace:
            for folder in (FOLDER, FOLDER.parent):  # they stood in the parent folder before
                for stale in (*folder.glob("*.so"), *folder.glob("*.pyd")):
                    stale.unlink()
        super().run()
        for extension in self.extensions:
            if not Path(self.get_ext_fullpath(extension.name)).exists():
                self.warn(WITHOUT)


def extension(name: str) -> Extension:
    return Extension(
        f"{PACKAGE}.{name}",
        sources=[(FOLDER / f"{name}.c").as_posix()],
        libraries=[] if sys.platform == "win32" else ["m"],
        extra_compile_args=["/O2", "/std:c11"] if sys.platform == "win32" else UNIX_FLAGS,
        depends=[header.as_posix() for header in FOLDER.glob("*.h")],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
        py_limited_api=STABLE,
        optional=KERNEL != "on",
    )


def address():
    """Where the project is hosted, as its CI says; empty in a build elsewhere."""
    name = os.environ.get("GITHUB_REPOSITORY", "")
    return f"{os.environ.get('GITHUB_SERVER_URL', 'https://github.com')}/{name}" if name else ""


def urls(base):
    """The links beside a package on the index."""
    pages = {
        "Source": "",
        "Documentation": "/blob/HEAD/docs/index.md",
        "Changelog": "/blob/HEAD/CHANGELOG.md",
        "Issues": "/issues",
    }
    return {name: f"{base}{page}" for name, page in pages.items()} if base else {}


def description(base):
    """README.md; where the address is known, its links and pictures lead there: an index has no files for them."""
    text = Path("README.md").read_text(encoding="utf-8")
    if not base:
        return text
    version = re.search(
        r'__version__ = "(.+)"', Path("src/semtropy/__init__.py").read_text(encoding="utf-8")
    )[1]

    def absolute(found):
        kind = "raw" if found[0].startswith("!") else "blob"
        return f"{found[1]}({base}/{kind}/v{version}/{found[2]})"

    return re.sub(r"(!?\[[^]]*\])\((?!https?:|#)([^)]+)\)", absolute, text)


setup(
    long_description=description(address()),
    long_description_content_type="text/markdown",
    project_urls=urls(address()),
    ext_modules=[extension(name) for name in NAMES if KERNEL != "off"],
    cmdclass={"build_ext": BuildKernel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
