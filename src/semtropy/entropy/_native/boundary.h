/* What both compiled modules do at the Python boundary: typed buffers, signals, and the module's slots. */

#ifndef SEMTROPY_BOUNDARY_H
#define SEMTROPY_BOUNDARY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

/* What a function expects of one array: its name in messages, the type of its items, whether it is written to. */
typedef struct { const char *name; char kind; int written; } array; /* kind: 'd' float64, 'D' also in two dimensions, 'i' int64 */

static int right_type(const Py_buffer *b, char kind) {
    const char *format = b->format ? b->format : "B";
    if (*format == '@' || *format == '=') format++;
    if (b->itemsize != 8 || strlen(format) != 1) return 0;
    return kind != 'i' ? *format == 'd' : *format == 'l' || *format == 'q';
}

static void release(Py_buffer *b, int n) {
    while (n-- > 0) PyBuffer_Release(&b[n]);
}

/* Contiguous one-dimensional buffers of n arguments, or -1 with an exception and none held. */
static int acquire(PyObject *const *from, const array *wanted, Py_buffer *b, int n) {
    for (int i = 0; i < n; i++) {
        int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (wanted[i].written ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(from[i], &b[i], flags)) {
            release(b, i);
            return -1;
        }
        if (b[i].ndim < 1 || b[i].ndim > (wanted[i].kind == 'D' ? 2 : 1) || !right_type(&b[i], wanted[i].kind)) {
            PyErr_Format(PyExc_TypeError, "%s must be a one-dimensional array of %s", wanted[i].name,
                         wanted[i].kind == 'i' ? "int64" : "float64");
            release(b, i + 1);
            return -1;
        }
    }
    return 0;
}

static Py_ssize_t length(const Py_buffer *b) { return b->len / 8; }

static int same_length(const Py_buffer *b, const array *names, int one, int other) {
    if (length(&b[one]) == length(&b[other])) return 1;
    PyErr_Format(PyExc_ValueError, "%s has %zd entries and %s %zd", names[one].name, length(&b[one]), names[other].name,
                 length(&b[other]));
    return 0;
}

static PyObject *finish(Py_buffer *b, int n, int failed) {
    release(b, n);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *refuse(Py_buffer *b, int n, const char *why) {
    release(b, n);
    if (why) PyErr_SetString(PyExc_ValueError, why);
    return NULL;
}

/* For code that runs without the interpreter lock: takes it, looks for signals, and gives it back. */
static int signals_arrived(void *context) {
    PyThreadState **state = context;
    PyEval_RestoreThread(*state);
    int raised = PyErr_CheckSignals();
    *state = PyEval_SaveThread();
    return raised;
}

/* The functions keep no state between calls, so they run without the interpreter lock, and free-threaded Python needs
 * none for them. Py_mod_gil is not part of the stable ABI before 3.13; free-threaded builds do not use that ABI. */
static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
    {0, NULL}};

#endif
