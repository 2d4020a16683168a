/* The hot loops of law.py and symmetric.py, with the same numbers: sums over pieces of a distribution.
 *
 * stretched(value, slope, low, high, fixed, scale, weight, points, out)
 *     out[i] = sum over draws of weight * P(h' <= (points[i] - fixed) / scale), h' as in the table
 * cells(start, rise, bow, weight, points, out)
 *     out[i] = sum over cells of weight * P(start + rise s - bow s^2 <= points[i]), s uniform on (0, 1)
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

static inline double clip(double x) { return x < 0 ? 0 : x > 1 ? 1 : x; }

static double stretched_sum(const double *value, const double *slope, int cells, double low, double width,
                            const double *fixed, const double *scale, const double *weight, Py_ssize_t n, double point) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Py_ssize_t i = 0; i < n; i++) {
        double way = clip(((point - fixed[i]) / scale[i] - low) / width);
        double at = sqrt(sqrt(1 - sqrt(1 - way))) * cells;
        int cell = (int)at;
        cell = cell < cells ? cell : cells - 1;
        double s = at - cell, f0 = value[cell], f1 = value[cell + 1], d0 = slope[cell], d1 = slope[cell + 1];
        double a = 2 * (f0 - f1) + d0 + d1, b = 3 * (f1 - f0) - 2 * d0 - d1;
        sum += weight[i] * (f0 + s * (d0 + s * (b + s * a)));
    }
    return sum;
}

static double cell_sum(const double *start, const double *rise, const double *bow, const double *weight, Py_ssize_t n,
                       double point) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Py_ssize_t i = 0; i < n; i++) {
        double above = point - start[i], inside = rise[i] * rise[i] - 4 * bow[i] * above;
        double root = sqrt(inside > 0 ? inside : 0), both = rise[i] < 0 ? rise[i] - root : rise[i] + root;
        both = both == 0 ? 1e-300 : both;
        double one = clip(both / (2 * bow[i])), other = clip(2 * above / both);
        double between = inside > 0 ? fabs(one - other) : 0;
        sum += weight[i] * (bow[i] > 0 ? 1 - between : between);
    }
    return sum;
}

static Py_ssize_t length(const Py_buffer *b) { return b->len / (Py_ssize_t)sizeof(double); }

static PyObject *stretched(PyObject *self, PyObject *args) {
    Py_buffer b[7];
    double low, high;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*ddy*y*y*y*w*", &b[0], &b[1], &low, &high, &b[2], &b[3], &b[4], &b[5], &b[6])) return NULL;
    Py_ssize_t n = length(&b[2]), points = length(&b[5]);
    double *out = b[6].buf;
    const double *point = b[5].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < points; i++)
        out[i] = stretched_sum(b[0].buf, b[1].buf, (int)length(&b[0]) - 1, low, high - low, b[2].buf, b[3].buf, b[4].buf, n, point[i]);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 7; i++) PyBuffer_Release(&b[i]);
    Py_RETURN_NONE;
}

static PyObject *cells(PyObject *self, PyObject *args) {
    Py_buffer b[6];
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5])) return NULL;
    Py_ssize_t n = length(&b[0]), points = length(&b[4]);
    double *out = b[5].buf;
    const double *point = b[4].buf;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < points; i++) out[i] = cell_sum(b[0].buf, b[1].buf, b[2].buf, b[3].buf, n, point[i]);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 6; i++) PyBuffer_Release(&b[i]);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"stretched", stretched, METH_VARARGS, "Sums over stretched tables."},
                                {"cells", cells, METH_VARARGS, "Sums over cells of mass."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_distribution", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__distribution(void) { return PyModule_Create(&module); }
