"""Only what pyproject.toml cannot say: the compiled kernel, and that the build goes on without a compiler.

Without it `semtropy.entropy` runs the same mathematics in NumPy, more slowly; a test holds the two together.
"""

import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCE = Path("src/semtropy/entropy/_kernel.c")
UNIX_FLAGS = ["-O3", "-ffast-math", "-fopenmp-simd", "-std=gnu11"]
WITHOUT = "the compiled kernel was not built: semtropy will run its NumPy form instead, more slowly"


class BuildKernel(build_ext):
    """Leaves no kernel of an older source behind when this one cannot be compiled, and says that there is none."""

    def run(self):
        if self.inplace:
            for stale in (*SOURCE.parent.glob("_kernel*.so"), *SOURCE.parent.glob("_kernel*.pyd")):
                stale.unlink()
        super().run()
        for extension in self.extensions:
            if not Path(self.get_ext_fullpath(extension.name)).exists():
                self.warn(WITHOUT)


KERNEL = Extension(
    "semtropy.entropy._kernel",
    sources=[SOURCE.as_posix()],
    libraries=[] if sys.platform == "win32" else ["m"],
    extra_compile_args=[] if sys.platform == "win32" else UNIX_FLAGS,
    define_macros=[("Py_LIMITED_API", "0x030B0000")],
    py_limited_api=True,
    optional=True,
)

setup(
    ext_modules=[KERNEL] if SOURCE.exists() else [],
    cmdclass={"build_ext": BuildKernel},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
