/* The hot loops of semtropy.entropy.distribution, compiled: sums over pieces of a distribution, and shares of a total. The
 * same steps stand in NumPy beside each call (interpolation.py, sampling.py, share_density.py).
 *
 * stretched(value, slope, low, high, fixed, scale, weight, points, out)
 *     out[i] = sum over draws of weight * P(h' <= (points[i] - fixed) / scale), h' as in the table
 * cells(start, rise, bow, weight, points, out)
 *     out[i] = sum over cells of weight * P(start + rise s - bow s^2 <= points[i]), s uniform on (0, 1)
 * split(factor, base, x, y, slope, log_rest, bends, log_v, z, z_slope)
 *     the log-integral of a ShareDensity for each total, and its inverse distribution function unless z is empty
 * take(factor, rows, z, z_slope, u, log_rest, entropy, log_weight, log_y)
 *     a draw of one factor's share of each total; the last four are written, log_rest to entropy updated
 */

#include "boundary.h"

#include "portable.h"

#define LOOK_AFTER 3e7 /* steps between two checks for signals */

/* A NaN becomes the lower end, so that no index comes of one. */
static inline double within(double x, double low, double high) { return x > low ? (x < high ? x : high) : low; }
static inline double clip(double x) { return within(x, 0, 1); }

/* The Hermite cubic on a cell: values f0, f1 and slopes d0, d1 (per cell) at its ends, 0 <= s <= 1. See hermite.py. */
typedef struct { double value, slope; } cubic;

static inline cubic hermite(double s, double f0, double f1, double d0, double d1) {
    double a = 2 * (f0 - f1) + d0 + d1, b = 3 * (f1 - f0) - 2 * d0 - d1;
    return (cubic){f0 + s * (d0 + s * (b + s * a)), d0 + s * (2 * b + 3 * s * a)};
}

VECTORISED static double stretched_sum(const double *value, const double *slope, int cells, double low, double width,
                            const double *fixed, const double *scale, const double *weight, Py_ssize_t n, double point) {
    double sum = 0;
    SIMD_SUM
    for (Py_ssize_t i = 0; i < n; i++) {
        double way = clip(((point - fixed[i]) / scale[i] - low) / width);
        double at = sqrt(sqrt(1 - sqrt(1 - way))) * cells;
        int cell = (int)at;
        cell = cell < cells ? cell : cells - 1;
        sum += weight[i] * hermite(at - cell, value[cell], value[cell + 1], slope[cell], slope[cell + 1]).value;
    }
    return sum;
}

VECTORISED static double cell_sum(const double *start, const double *rise, const double *bow, const double *weight, Py_ssize_t n,
                       double point) {
    double sum = 0;
    SIMD_SUM
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

enum { VALUE, SLOPE, FIXED, SCALE, WEIGHT, POINTS, TOTALS, STRETCHED };
static const array STRETCHED_ARRAYS[STRETCHED] = {{"value", 'd', 0}, {"slope", 'd', 0},  {"fixed", 'd', 0}, {"scale", 'd', 0},
                                                  {"weight", 'd', 0}, {"points", 'd', 0}, {"out", 'd', 1}};

static PyObject *stretched(PyObject *self, PyObject *args) {
    PyObject *from[STRETCHED];
    Py_buffer b[STRETCHED];
    double low, high, work = 0;
    int stopped = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOddOOOOO:stretched", &from[0], &from[1], &low, &high, &from[2], &from[3], &from[4], &from[5],
                          &from[6]) ||
        acquire(from, STRETCHED_ARRAYS, b, STRETCHED))
        return NULL;
    if (!same_length(b, STRETCHED_ARRAYS, VALUE, SLOPE) || !same_length(b, STRETCHED_ARRAYS, FIXED, SCALE) ||
        !same_length(b, STRETCHED_ARRAYS, FIXED, WEIGHT) || !same_length(b, STRETCHED_ARRAYS, POINTS, TOTALS))
        return refuse(b, STRETCHED, NULL);
    Py_ssize_t n = length(&b[FIXED]), points = length(&b[POINTS]), knots = length(&b[VALUE]);
    if (knots < 2 || knots > 1 << 30) return refuse(b, STRETCHED, "the table needs at least two values");
    double *out = b[TOTALS].buf;
    const double *point = b[POINTS].buf;
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < points && !stopped; i++) {
        out[i] = stretched_sum(b[VALUE].buf, b[SLOPE].buf, (int)knots - 1, low, high - low, b[FIXED].buf, b[SCALE].buf,
                               b[WEIGHT].buf, n, point[i]);
        if ((work += (double)n) > LOOK_AFTER) work = 0, stopped = signals_arrived(&state);
    }
    PyEval_RestoreThread(state);
    return finish(b, STRETCHED, stopped);
}

static const array CELL_ARRAYS[6] = {{"start", 'd', 0},  {"rise", 'd', 0},   {"bow", 'd', 0},
                                     {"weight", 'd', 0}, {"points", 'd', 0}, {"out", 'd', 1}};

static PyObject *cells(PyObject *self, PyObject *args) {
    PyObject *from[6];
    Py_buffer b[6];
    double work = 0;
    int stopped = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOO:cells", &from[0], &from[1], &from[2], &from[3], &from[4], &from[5]) ||
        acquire(from, CELL_ARRAYS, b, 6))
        return NULL;
    if (!same_length(b, CELL_ARRAYS, 0, 1) || !same_length(b, CELL_ARRAYS, 0, 2) || !same_length(b, CELL_ARRAYS, 0, 3) ||
        !same_length(b, CELL_ARRAYS, 4, 5))
        return refuse(b, 6, NULL);
    Py_ssize_t n = length(&b[0]), points = length(&b[4]);
    double *out = b[5].buf;
    const double *point = b[4].buf;
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < points && !stopped; i++) {
        out[i] = cell_sum(b[0].buf, b[1].buf, b[2].buf, b[3].buf, n, point[i]);
        if ((work += (double)n) > LOOK_AFTER) work = 0, stopped = signals_arrived(&state);
    }
    PyEval_RestoreThread(state);
    return finish(b, 6, stopped);
}

/* ---- shares of a total: see share_density.py ---------------------------------------------------------------- */

#define FAR 700.0
#define DROP 30.0
#define STEEPEST 2.5
#define ROW 65
#define FIRST_LOGIT (-16.0)
#define STEP 0.5
#define GOLDEN 0.6180339887498949
#define MOST_BENDS 8
#define MOST_EDGES (13 * (4 + MOST_BENDS)) /* of panels: two runs around the peak, one at 0, at the floor and at each bend */

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

static double curve(const split *s, double at) {
    double beyond = 0;
    if (at < s->x[0]) beyond = (at - s->x[0]) * s->slope[0], at = s->x[0];
    if (at > s->x[s->knots - 1]) beyond = (at - s->x[s->knots - 1]) * s->slope[s->knots - 1], at = s->x[s->knots - 1];
    int low = 0, high = s->knots - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (s->x[middle] <= at) low = middle; else high = middle;
    }
    double w = s->x[low + 1] - s->x[low];
    return beyond + hermite((at - s->x[low]) / w, s->y[low], s->y[low + 1], s->slope[low] * w, s->slope[low + 1] * w).value;
}

VECTORISED static void log_density(const split *s, double rest, const double *z, int n, double *out) {
    double left[3 * MOST_EDGES];
    factor own = s->own, base = s->base;
    SIMD
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

/* The rising cubic through (x, f) with slopes d, at every logit of a row. Where fewer than two points are left, all of the
 * mass lies within one panel: a point, whose slope is as good as 0. */
static void resample(double *x, double *f, double *d, int n, double otherwise, double *z, double *slope) {
    int kept = n > 0;
    for (int i = 1; i < n; i++)
        if (x[i] - x[i - 1] > 1e-9) x[kept] = x[i], f[kept] = f[i], d[kept++] = d[i];
    if (kept < 2) {
        for (int k = 0; k < ROW; k++) z[k] = kept ? f[0] : otherwise, slope[k] = 1e-12;
        return;
    }
    limit(x, f, d, kept);
    double logits[ROW];
    for (int k = 0, i = 0; k < ROW; k++) {
        logits[k] = FIRST_LOGIT + STEP * k;
        double at = within(logits[k], x[0], x[kept - 1]);
        while (i < kept - 2 && x[i + 1] <= at) i++;
        double w = x[i + 1] - x[i];
        cubic here = hermite((at - x[i]) / w, f[i], f[i + 1], d[i] * w, d[i + 1] * w);
        slope[k] = here.slope / w;
        z[k] = here.value + (logits[k] - at) * slope[k];
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
    SIMD
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
    resample(logit, at, d, kept, 0.5 * (edges[0] + edges[n - 1]), z, slope);
}

enum { X, Y, X_SLOPE, REST, BEND, LOG_V, Z, Z_SLOPE, SPLIT };
static const array SPLIT_ARRAYS[SPLIT] = {{"x", 'd', 0},     {"y", 'd', 0},     {"slope", 'd', 0}, {"log_rest", 'd', 0},
                                          {"bends", 'd', 0}, {"log_v", 'd', 1}, {"z", 'D', 1},     {"z_slope", 'D', 1}};

static int finite_factor(factor f) { return isfinite(f.p) && isfinite(f.q) && isfinite(f.floor) && f.floor >= 0; }

static PyObject *split_rows(PyObject *self, PyObject *args) {
    PyObject *from[SPLIT];
    Py_buffer b[SPLIT];
    split s;
    double work = 0;
    int stopped = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "(ddd)(ddd)OOOOOOOO:split", &s.own.p, &s.own.q, &s.own.floor, &s.base.p, &s.base.q,
                          &s.base.floor, &from[0], &from[1], &from[2], &from[3], &from[4], &from[5], &from[6], &from[7]) ||
        acquire(from, SPLIT_ARRAYS, b, SPLIT))
        return NULL;
    if (!same_length(b, SPLIT_ARRAYS, X, Y) || !same_length(b, SPLIT_ARRAYS, X, X_SLOPE) ||
        !same_length(b, SPLIT_ARRAYS, REST, LOG_V) || !same_length(b, SPLIT_ARRAYS, Z, Z_SLOPE))
        return refuse(b, SPLIT, NULL);
    Py_ssize_t rows = length(&b[REST]), knots = length(&b[X]), bends = length(&b[BEND]);
    if (knots > 1 << 30 || !finite_factor(s.own) || !finite_factor(s.base)) return refuse(b, SPLIT, "a factor is out of range");
    if (length(&b[Z]) && length(&b[Z]) != rows * ROW) return refuse(b, SPLIT, "z must have 65 columns, or be empty");
    s.x = b[X].buf, s.y = b[Y].buf, s.slope = b[X_SLOPE].buf, s.knots = (int)knots;
    s.bends = b[BEND].buf, s.n_bends = bends < MOST_BENDS ? (int)bends : MOST_BENDS;
    const double *rest = b[REST].buf;
    double *log_v = b[LOG_V].buf, *z = length(&b[Z]) ? b[Z].buf : NULL, *slope = b[Z_SLOPE].buf;
    PyThreadState *state = PyEval_SaveThread();
    for (Py_ssize_t i = 0; i < rows && !stopped; i++) {
        one_row(&s, rest[i], &log_v[i], z ? z + i * ROW : NULL, z ? slope + i * ROW : NULL);
        if ((work += 1000) > LOOK_AFTER / 10) work = 0, stopped = signals_arrived(&state);
    }
    PyEval_RestoreThread(state);
    return finish(b, SPLIT, stopped);
}

static inline cubic in_row(const double *z, const double *slope, int cell, double s) {
    cubic here = hermite(s, z[cell], z[cell + 1], slope[cell] * STEP, slope[cell + 1] * STEP);
    return (cubic){here.value, here.slope / STEP};
}

static cubic look_up(const double *rows, int n, const double *z, const double *slope, double logit, double rest) {
    double at = within((logit - FIRST_LOGIT) / STEP, 0, ROW - 1);
    int cell = (int)at;
    if (cell > ROW - 2) cell = ROW - 2;
    cubic found = in_row(z, slope, cell, at - cell);
    if (n > 1) {
        int low = 0, high = n - 1;
        while (high - low > 1) {
            int middle = (low + high) / 2;
            if (rows[middle] <= rest) low = middle; else high = middle;
        }
        double upper = within((rest - rows[low]) / (rows[low + 1] - rows[low]), 0, 1);
        cubic a = in_row(z + ROW * low, slope + ROW * low, cell, at - cell);
        cubic b = in_row(z + ROW * (low + 1), slope + ROW * (low + 1), cell, at - cell);
        found = (cubic){a.value + upper * (b.value - a.value), a.slope + upper * (b.slope - a.slope)};
    }
    found.value += (logit - within(logit, FIRST_LOGIT, -FIRST_LOGIT)) * found.slope;
    return found;
}

#define BATCH 256

/* A batch of draws: the share of each total, and what it does to what is left, the entropy and the weight. */
VECTORISED static void take_batch(factor f, const double *RESTRICT u, const double *RESTRICT z, const double *RESTRICT slope,
                                  int n, double *RESTRICT rest, double *RESTRICT entropy, double *RESTRICT weight,
                                  double *RESTRICT taken) {
    SIMD
    for (int i = 0; i < n; i++) {
        double beside = log(1 + exp(-fabs(z[i])));
        double log_y = rest[i] - beside + (z[i] < 0 ? z[i] : 0), log_left = rest[i] - beside - (z[i] > 0 ? z[i] : 0);
        double x = f.floor + exp(log_y), log_x = log(x + 1e-305);
        weight[i] += log(slope[i] / (u[i] * (1 - u[i]))) + f.q * log_y + f.p * log_x + log_left - rest[i];
        entropy[i] -= x * log_x;
        rest[i] = log_left;
        taken[i] = log_y;
    }
}

enum { ROWS, ROW_Z, ROW_SLOPE, U, LEFT, ENTROPY, LOG_WEIGHT, TAKEN, TAKE };
static const array TAKE_ARRAYS[TAKE] = {{"rows", 'd', 0},     {"z", 'D', 0},       {"z_slope", 'D', 0},    {"u", 'd', 0},
                                        {"log_rest", 'd', 1}, {"entropy", 'd', 1}, {"log_weight", 'd', 1}, {"log_y", 'd', 1}};

static PyObject *take(PyObject *self, PyObject *args) {
    PyObject *from[TAKE];
    Py_buffer b[TAKE];
    factor f;
    double work = 0;
    int stopped = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "(ddd)OOOOOOOO:take", &f.p, &f.q, &f.floor, &from[0], &from[1], &from[2], &from[3], &from[4],
                          &from[5], &from[6], &from[7]) ||
        acquire(from, TAKE_ARRAYS, b, TAKE))
        return NULL;
    if (!same_length(b, TAKE_ARRAYS, ROW_Z, ROW_SLOPE) || !same_length(b, TAKE_ARRAYS, U, LEFT) ||
        !same_length(b, TAKE_ARRAYS, U, ENTROPY) || !same_length(b, TAKE_ARRAYS, U, LOG_WEIGHT) ||
        !same_length(b, TAKE_ARRAYS, U, TAKEN))
        return refuse(b, TAKE, NULL);
    Py_ssize_t draws = length(&b[U]), rows = length(&b[ROWS]);
    if (rows < 1 || rows > 1 << 24 || length(&b[ROW_Z]) != rows * ROW) return refuse(b, TAKE, "z must have 65 columns and a row for each total");
    const double *u = b[U].buf;
    double *rest = b[LEFT].buf, *entropy = b[ENTROPY].buf, *weight = b[LOG_WEIGHT].buf, *taken = b[TAKEN].buf;
    PyThreadState *state = PyEval_SaveThread();
    double z[BATCH], slope[BATCH];
    for (Py_ssize_t at = 0; at < draws && !stopped; at += BATCH) {
        int n = draws - at < BATCH ? (int)(draws - at) : BATCH;
        for (int i = 0; i < n; i++) {
            double v = u[at + i];
            cubic found = look_up(b[ROWS].buf, (int)rows, b[ROW_Z].buf, b[ROW_SLOPE].buf, log(v / (1 - v)), rest[at + i]);
            z[i] = found.value;
            slope[i] = found.slope;
        }
        take_batch(f, u + at, z, slope, n, rest + at, entropy + at, weight + at, taken + at);
        if ((work += n) > LOOK_AFTER / 10) work = 0, stopped = signals_arrived(&state);
    }
    PyEval_RestoreThread(state);
    return finish(b, TAKE, stopped);
}

static PyMethodDef methods[] = {{"stretched", stretched, METH_VARARGS, "Sums over stretched tables."},
                                {"cells", cells, METH_VARARGS, "Sums over cells of mass."},
                                {"split", split_rows, METH_VARARGS, "How a factor shares totals with the rest."},
                                {"take", take, METH_VARARGS, "Draws of a factor's share."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "distribution", NULL, 0, methods, slots, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_distribution(void) { return PyModuleDef_Init(&module); }
