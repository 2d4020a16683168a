/* The hot loops of law.py and symmetric.py, with the same numbers: sums over pieces of a distribution.
 *
 * stretched(value, slope, low, high, fixed, scale, weight, points, out)
 *     out[i] = sum over draws of weight * P(h' <= (points[i] - fixed) / scale), h' as in the table
 * cells(start, rise, bow, weight, points, out)
 *     out[i] = sum over cells of weight * P(start + rise s - bow s^2 <= points[i]), s uniform on (0, 1)
 * split(factor, base, x, y, slope, log_rest, bends, log_v, z, z_slope)
 *     a _Split of splitting.py: log V for each total, and its table unless z is empty
 * take(factor, rows, z, z_slope, u, log_rest, entropy, log_weight, log_y)
 *     a draw of one factor's share of each total; the last four are written, log_rest to entropy updated
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <string.h>

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

/* ---- splits: see splitting.py, whose names these are ----------------------------------------------------- */

#define FAR 700.0
#define DROP 30.0
#define STEEPEST 2.5
#define ROW 65
#define FIRST_LOGIT (-16.0)
#define STEP 0.5
#define GOLDEN 0.6180339887498949
#define MOST_EDGES 256

static const double STEPS[13] = {0, 0.6, 1.2, 2, 3, 4.5, 7, 12, 22, 45, 110, 300, 1000};
static const double BENDS[13] = {-60, -20, -8, -4, -2.2, -1, 0, 1, 2.2, 4, 8, 20, 60};

typedef struct { double p, q, floor; } factor;

typedef struct {
    factor own, base;
    const double *x, *y, *slope; /* log V of the rest, less its base */
    int knots;
    const double *bends;
    int n_bends;
} split;

static inline double log_factor(factor f, double log_y) {
    return (f.q - 1) * log_y + (f.floor > 0 ? f.p * log(f.floor + exp(log_y)) : 0);
}

static double curve(const split *s, double at) {
    double beyond = 0;
    if (at < s->x[0]) beyond = (at - s->x[0]) * s->slope[0], at = s->x[0];
    if (at > s->x[s->knots - 1]) beyond = (at - s->x[s->knots - 1]) * s->slope[s->knots - 1], at = s->x[s->knots - 1];
    int low = 0, high = s->knots - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (s->x[middle] <= at) low = middle; else high = middle;
    }
    double w = s->x[low + 1] - s->x[low], t = (at - s->x[low]) / w, f0 = s->y[low], f1 = s->y[low + 1];
    double d0 = s->slope[low] * w, d1 = s->slope[low + 1] * w;
    return beyond + f0 + t * (d0 + t * (3 * (f1 - f0) - 2 * d0 - d1 + t * (2 * (f0 - f1) + d0 + d1)));
}

static void log_density(const split *s, double rest, const double *z, int n, double *out) {
    double left[3 * MOST_EDGES];
    factor own = s->own, base = s->base;
#pragma omp simd
    for (int i = 0; i < n; i++) {
        double beside = log(1 + exp(-fabs(z[i])));
        double log_y = rest - beside + (z[i] < 0 ? z[i] : 0), log_left = rest - beside - (z[i] > 0 ? z[i] : 0);
        left[i] = log_left;
        out[i] = own.q * log_y + base.q * log_left - rest + own.p * log(own.floor + exp(log_y) + 1e-305)
               + base.p * log(base.floor + exp(log_left) + 1e-305);
    }
    if (s->knots > 2)
        for (int i = 0; i < n; i++) out[i] += curve(s, left[i]);
}

static double density_at(const split *s, double rest, double z) {
    double out = 0;
    log_density(s, rest, &z, 1, &out);
    return out;
}

static double find_peak(const split *s, double rest) {
    double start[41], value[41];
    double end = asinh(FAR);
    for (int i = 0; i < 41; i++) start[i] = sinh(end * (i - 20) / 20);
    log_density(s, rest, start, 41, value);
    int best = 0;
    for (int i = 1; i < 41; i++)
        if (value[i] > value[best]) best = i;
    best = best < 1 ? 1 : best > 39 ? 39 : best;
    double low = start[best - 1], high = start[best + 1];
    for (int i = 0; i < 16; i++) {
        double ab[2] = {high - GOLDEN * (high - low), low + GOLDEN * (high - low)}, at[2];
        log_density(s, rest, ab, 2, at);
        if (at[0] > at[1]) high = ab[1]; else low = ab[0];
    }
    return (low + high) / 2;
}

static double reach(const split *s, double rest, double peak, double level, double sign) {
    double low = -9, high = log(2 * FAR);
    for (int i = 0; i < 10; i++) {
        double middle = (low + high) / 2;
        if (density_at(s, rest, peak + sign * exp(middle)) > level) low = middle; else high = middle;
    }
    return exp(high);
}

static double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* Merges a rising run into rising edges. */
static int merge(double *edges, int n, const double *run, int more) {
    int i = n - 1, j = more - 1, k = n + more - 1;
    while (j >= 0) edges[k--] = i >= 0 && edges[i] > run[j] ? edges[i--] : run[j--];
    return n + more;
}

static int lay_panels(const split *s, double rest, double *edges, double *top) {
    double peak = find_peak(s, rest), run[13];
    *top = density_at(s, rest, peak);
    double left = reach(s, rest, peak, *top - 0.5, -1), right = reach(s, rest, peak, *top - 0.5, 1);
    double first = within(peak - reach(s, rest, peak, *top - DROP, -1), -FAR, FAR);
    double last = within(peak + reach(s, rest, peak, *top - DROP, 1), -FAR, FAR);
    int n = 0;
    for (int i = 0; i < 13; i++) edges[n++] = within(peak - left * STEPS[12 - i], first, last);
    for (int i = 0; i < 13; i++) edges[n++] = within(peak + right * STEPS[i], first, last);
    for (int b = -2; b < s->n_bends; b++) {
        if (b == -1 && s->own.floor <= 0) continue;
        double at = b == -2 ? 0 : b == -1 ? log(s->own.floor) - rest : rest - s->bends[b];
        at = within(at, -FAR, FAR);
        for (int i = 0; i < 13; i++) run[i] = within(at + BENDS[i], first, last);
        n = merge(edges, n, run, 13);
    }
    int kept = 1;
    for (int i = 1; i < n; i++) {
        double size = fabs(edges[i]) > 1e-3 ? fabs(edges[i]) : 1e-3;
        if (edges[i] - edges[kept - 1] > 1e-13 * size) edges[kept++] = edges[i];
    }
    return kept;
}

static void limit(const double *x, const double *f, double *d, int n) {
    for (int i = 0; i < n; i++) {
        int a = i ? i - 1 : 0, b = i < n - 1 ? i : n - 2;
        double before = (f[a + 1] - f[a]) / (x[a + 1] - x[a]), after = (f[b + 1] - f[b]) / (x[b + 1] - x[b]);
        double most = STEEPEST * (before < after ? before : after);
        if (d[i] > most) d[i] = most;
    }
}

/* The rising cubic through (x, f) with slopes d, at every logit of a row. */
static void resample(double *x, double *f, double *d, int n, double *z, double *slope) {
    int kept = 1;
    for (int i = 1; i < n; i++)
        if (x[i] - x[i - 1] > 1e-9) x[kept] = x[i], f[kept] = f[i], d[kept++] = d[i];
    limit(x, f, d, kept);
    double logits[ROW];
    for (int k = 0, i = 0; k < ROW; k++) {
        logits[k] = FIRST_LOGIT + STEP * k;
        double at = within(logits[k], x[0], x[kept - 1]);
        while (i < kept - 2 && x[i + 1] <= at) i++;
        double w = x[i + 1] - x[i], t = (at - x[i]) / w, d0 = d[i] * w, d1 = d[i + 1] * w;
        double a = 2 * (f[i] - f[i + 1]) + d0 + d1, b = 3 * (f[i + 1] - f[i]) - 2 * d0 - d1;
        slope[k] = (d0 + t * (2 * b + 3 * t * a)) / w;
        z[k] = f[i] + t * (d0 + t * (b + t * a)) + (logits[k] - at) * slope[k];
    }
    limit(logits, z, slope, ROW);
}

static void one_row(const split *s, double rest, double *log_v, double *z, double *slope) {
    const double nodes[3] = {-0.7745966692414834, 0, 0.7745966692414834}, weights[3] = {5. / 9, 8. / 9, 5. / 9};
    double edges[MOST_EDGES], inside[3 * MOST_EDGES] = {0}, value[3 * MOST_EDGES], mass[MOST_EDGES], top, total = 0;
    int n = lay_panels(s, rest, edges, &top);
    for (int i = 0; i < n - 1; i++)
        for (int k = 0; k < 3; k++) inside[3 * i + k] = (edges[i + 1] + edges[i]) / 2 + (edges[i + 1] - edges[i]) / 2 * nodes[k];
    log_density(s, rest, inside, 3 * (n - 1), value);
#pragma omp simd
    for (int i = 0; i < 3 * (n - 1); i++) value[i] = exp(value[i] - top);
    for (int i = 0; i < n - 1; i++) {
        mass[i] = (weights[0] * value[3 * i] + weights[1] * value[3 * i + 1] + weights[2] * value[3 * i + 2])
                * (edges[i + 1] - edges[i]) / 2;
        total += mass[i];
    }
    *log_v = log(total) + top;
    if (!z) return;
    double right[MOST_EDGES], logit[MOST_EDGES], at[MOST_EDGES], d[MOST_EDGES], left = 0;
    right[n - 1] = 0;
    for (int i = n - 2; i >= 0; i--) right[i] = right[i + 1] + mass[i];
    log_density(s, rest, edges, n, value);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        double density = exp(value[i] - *log_v);
        if (left > 0 && right[i] > 0 && density > 0) {
            logit[kept] = log(left / right[i]);
            at[kept] = edges[i];
            d[kept++] = left / total * (right[i] / total) / density;
        }
        if (i < n - 1) left += mass[i];
    }
    resample(logit, at, d, kept, z, slope);
}

static PyObject *split_rows(PyObject *self, PyObject *args) {
    Py_buffer b[8];
    split s;
    (void)self;
    if (!PyArg_ParseTuple(args, "(ddd)(ddd)y*y*y*y*y*w*w*w*", &s.own.p, &s.own.q, &s.own.floor, &s.base.p, &s.base.q,
                          &s.base.floor, &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7]))
        return NULL;
    s.x = b[0].buf, s.y = b[1].buf, s.slope = b[2].buf, s.knots = (int)length(&b[0]);
    s.bends = b[4].buf, s.n_bends = (int)length(&b[4]);
    const double *rest = b[3].buf;
    double *log_v = b[5].buf, *z = b[6].buf, *slope = b[7].buf;
    int rows = (int)length(&b[3]), tabled = length(&b[6]) > 0;
    if (s.n_bends > 8) s.n_bends = 8;
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < rows; i++)
        one_row(&s, rest[i], &log_v[i], tabled ? z + (Py_ssize_t)i * ROW : NULL, tabled ? slope + (Py_ssize_t)i * ROW : NULL);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 8; i++) PyBuffer_Release(&b[i]);
    Py_RETURN_NONE;
}

typedef struct { double z, slope; } place;

static inline place in_row(const double *z, const double *slope, int cell, double s) {
    double z0 = z[cell], z1 = z[cell + 1], d0 = slope[cell] * STEP, d1 = slope[cell + 1] * STEP;
    double a = 2 * (z0 - z1) + d0 + d1, b = 3 * (z1 - z0) - 2 * d0 - d1;
    return (place){z0 + s * (d0 + s * (b + s * a)), (d0 + s * (2 * b + 3 * s * a)) / STEP};
}

static place look_up(const double *rows, int n, const double *z, const double *slope, double logit, double rest) {
    double at = within((logit - FIRST_LOGIT) / STEP, 0, ROW - 1);
    int cell = (int)at;
    if (cell > ROW - 2) cell = ROW - 2;
    place found = in_row(z, slope, cell, at - cell);
    if (n > 1) {
        int low = 0, high = n - 1;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (rows[middle] <= rest) low = middle; else high = middle;
        }
        double upper = within((rest - rows[low]) / (rows[low + 1] - rows[low]), 0, 1);
        place a = in_row(z + ROW * low, slope + ROW * low, cell, at - cell);
        place b = in_row(z + ROW * (low + 1), slope + ROW * (low + 1), cell, at - cell);
        found = (place){a.z + upper * (b.z - a.z), a.slope + upper * (b.slope - a.slope)};
    }
    found.z += (logit - within(logit, FIRST_LOGIT, -FIRST_LOGIT)) * found.slope;
    return found;
}

static PyObject *take(PyObject *self, PyObject *args) {
    Py_buffer b[8];
    factor f;
    (void)self;
    if (!PyArg_ParseTuple(args, "(ddd)y*y*y*y*w*w*w*w*", &f.p, &f.q, &f.floor, &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
                          &b[6], &b[7]))
        return NULL;
    const double *u = b[3].buf;
    double *rest = b[4].buf, *entropy = b[5].buf, *weight = b[6].buf, *taken = b[7].buf;
    Py_ssize_t draws = length(&b[3]);
    int rows = (int)length(&b[0]);
    Py_BEGIN_ALLOW_THREADS
    double z[256], slope[256];
    for (Py_ssize_t from = 0; from < draws; from += 256) {
        int n = draws - from < 256 ? (int)(draws - from) : 256;
        const double *v = u + from;
        double *left = rest + from, *h = entropy + from, *w = weight + from, *y = taken + from;
#pragma omp simd
        for (int i = 0; i < n; i++) z[i] = log(v[i] / (1 - v[i]));
        for (int i = 0; i < n; i++) {
            place found = look_up(b[0].buf, rows, b[1].buf, b[2].buf, z[i], left[i]);
            z[i] = found.z;
            slope[i] = found.slope;
        }
#pragma omp simd
        for (int i = 0; i < n; i++) {
            double beside = log(1 + exp(-fabs(z[i])));
            double log_y = left[i] - beside + (z[i] < 0 ? z[i] : 0), log_left = left[i] - beside - (z[i] > 0 ? z[i] : 0);
            double x = f.floor + exp(log_y), log_x = log(x + 1e-305);
            w[i] += log(slope[i] / (v[i] * (1 - v[i]))) + f.q * log_y + f.p * log_x + log_left - left[i];
            h[i] -= x * log_x;
            left[i] = log_left;
            y[i] = log_y;
        }
    }
    Py_END_ALLOW_THREADS
    for (int i = 0; i < 8; i++) PyBuffer_Release(&b[i]);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"stretched", stretched, METH_VARARGS, "Sums over stretched tables."},
                                {"cells", cells, METH_VARARGS, "Sums over cells of mass."},
                                {"split", split_rows, METH_VARARGS, "How a factor shares totals with the rest."},
                                {"take", take, METH_VARARGS, "Draws of a factor's share."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "distribution", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_distribution(void) { return PyModule_Create(&module); }
