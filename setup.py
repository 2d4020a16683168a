"""Only what pyproject.toml cannot say: the compiled kernel, and that the build goes on without a compiler.

Without it `semtropy.entropy` runs the same mathematics in NumPy, more slowly; a test holds the two together.
"""

import sys

from setuptools import Extension, setup

UNIX_FLAGS = ["-O3", "-ffast-math", "-fopenmp-simd", "-std=gnu11"]

setup(
    ext_modules=[
        Extension(
            "semtropy.entropy._kernel",
            sources=["src/semtropy/entropy/_kernel.c"],
            libraries=[] if sys.platform == "win32" else ["m"],
            extra_compile_args=[] if sys.platform == "win32" else UNIX_FLAGS,
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
