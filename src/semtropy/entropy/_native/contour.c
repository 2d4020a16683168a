/* The contour integrals of semtropy.entropy, compiled. `contour.py` says what is computed and why each step is taken, and
 * has the same steps in NumPy; tests hold the two together. Loops over inner nodes are written so that
 * compilers vectorise them, logarithms and exponentials included. */

#include "boundary.h"

#include "path.h"

#define SHARED_LOSS 3.0 /* masses share a path as long as the logarithm of what sharing costs stays below this */
#define QUICK_LOSS 6.0  /* the same for tolerances that begin with fewer nodes */
#define LARGEST_POWER 1e9
#define LARGEST_MASS 1e15
#define TINIEST_FLOOR 1e-300
#define SCREEN_STEP 0.5   /* of the inner nodes, where only the size of an integral is wanted */
#define SCREEN_TURNS 6
#define SHARED_WIDTHS 1.4 /* of an inner integrand, between modes that share its nodes */
#define MOST_SHAPE 0.25 /* of p + q, where one meaning may take all the room */
#define SCREEN_MISS 0.1 /* a saddle is near enough where the slope there is this small, squared and over the curvature */

/* ---- problems ------------------------------------------------------------------------------------------- */

/* 1 - sum of floors, compensated (Neumaier). */
static double room_above(const double *floors, int m) {
    double sum = 1, lost = 0;
    for (int j = 0; j < m; j++) {
        double x = -floors[j], next = sum + x;
        lost += fabs(sum) >= fabs(x) ? (sum - next) + x : (x - next) + sum;
        sum = next;
    }
    return sum + lost;
}

/* No floor at all: the Dirichlet, closed form. */
static void dirichlet(const problem *pr, int k, results out) {
    double unseen = pr->mass[k], a0 = pr->alpha, total = unseen, entropy = 0, log_gammas = 0;
    for (int j = 0; j < pr->m; j++) total += pr->f[j].p + pr->f[j].q;
    for (int j = 0; j < pr->m; j++) {
        double a = pr->f[j].p + pr->f[j].q;
        entropy -= a / total * digamma(a + 1);
        log_gammas += log_gamma(a);
    }
    entropy += digamma(total + 1) - (unseen > 0 ? unseen / total * digamma(a0 + 1) : 0);
    double shift = entropy - digamma(total + 2), sum = total * total / ((total + 1) * (total + 1));
    for (int j = 0; j < pr->m + (unseen > 0); j++) {
        int seen = j < pr->m;
        double a = seen ? pr->f[j].p + pr->f[j].q : a0, d = digamma(a + 1) + shift;
        sum += (seen ? a : unseen) * (d * d + 2 * d + 1 / (a + 1) + (a + 1) * trigamma(a + 2));
    }
    out.mean[k] = entropy;
    out.variance[k] = sum / (total * (total + 1)) - trigamma(total + 2);
    if (out.variance[k] < 0) out.variance[k] = 0;
    out.log_z[k] = log_gammas - log_gamma(total);
}

/* How much a path made for mass `other` loses on a problem of mass `base`, as the logarithm of a ratio. */
static double loss(double base, double other) { return other - base - base * log(other / base); }

/* One meaning has all the mass. */
static double log_z_alone(const problem *pr) { return pr->f[0].floor > 0 ? (pr->f[0].q - 1) * log(pr->room) : 0; }

static int solve_problem(workspace *w, problem *pr, int first, int last, double tolerance, results out, double *error) {
    int floors = 0;
    double base = 0, most = tolerance >= QUICK_FROM ? QUICK_LOSS : SHARED_LOSS;
    for (int j = 0; j < pr->m; j++) {
        floors += pr->f[j].floor > 0;
        base += pr->f[j].floor > 0 ? pr->f[j].q : pr->f[j].p + pr->f[j].q;
    }
    *error = 0;
    int k = first;
    while (k < last) {
        if (pr->m == 1 && pr->mass[k] == 0) {
            out.mean[k] = out.variance[k] = 0;
            out.log_z[k] = log_z_alone(pr);
            k++;
        } else if (!floors) {
            dirichlet(pr, k, out);
            k++;
        } else {
            int end = k + 1;
            double shape = base + pr->mass[k];
            while (end < last && pr->mass[end] > 0 && loss(shape, base + pr->mass[end]) < most) end++;
            pr->first = k;
            pr->last = end;
            int status = one_group(w, pr, tolerance, out, error);
            if (status == BEYOND_DOUBLES) *error = HUGE_VAL;
            else if (status) return status;
            k = end;
        }
    }
    for (k = first; k < last; k++) { /* whatever went wrong, no wrong number leaves unmarked */
        if (out.variance[k] < 0 && out.variance[k] > -1e-12) out.variance[k] = 0;
        int right = isfinite(out.mean[k]) && isfinite(out.log_z[k]) && out.variance[k] >= 0 && isfinite(out.variance[k]);
        if (!right || out.mean[k] < -100 * tolerance) *error = HUGE_VAL;
    }
    return DONE;
}

/* log A, and the mean and variance of y under a factor times exp(-s y), at one real s. */
typedef struct { double log_a, mean, variance; } tilted;

static tilted tilt_free(factor f, double s) {
    double y = tilted_mean(f, s), shape = f.p + f.q;
    return (tilted){log_gamma(shape) - shape * log(s), y, tilted_variance(f, s, y)};
}

/* The nodes are those placed around y, for an s near the one they were placed for. */
VECTORISED static tilted tilt_bounded(const inner_nodes *nodes, factor f, double y, double s) {
    double total = 0, first = 0, second = 0, p = f.p, least = LEAST_EXPONENT;
    int n = 2 * nodes->half / LANES * LANES;
    const double *RESTRICT excess = nodes->excess, *RESTRICT power = nodes->power, *RESTRICT grown = nodes->grown;
    SIMD_THREE_SUMS
    for (int i = 0; i < n; i++) {
        double weight = EXP_FROM(least, p * grown[i] + power[i] - s * excess[i]);
        total += weight;
        first += weight * excess[i];
        second += weight * excess[i] * excess[i];
    }
    first /= total;
    return (tilted){log(total) + f.p * log(f.floor + y) + f.q * log(y) - s * y, y + first, second / total - first * first};
}

/* Without unseen meanings and with p + q near 0 or below throughout, the means at s = 0 may add up to less than the room,
 * and there is no saddle to speak of. */
static int one_takes_all(const problem *pr, double mass) {
    int all = mass == 0;
    for (int j = 0; j < pr->m; j++) all = all && pr->f[j].p + pr->f[j].q <= MOST_SHAPE;
    return all;
}

/* One meaning then has nearly all the room, and the others are integrated up to about the room: a sum over that one. */
static int log_z_one_large(workspace *w, const problem *pr, double *log_z) {
    double others = 0, sum = 0, top = -HUGE_VAL;
    for (int j = 0; j < pr->m; j++) {
        factor f = pr->f[j];
        double s = 1 / pr->room, y = tilted_mean(f, s);
        int status = f.floor > 0 ? place_nodes(&w->inner, f, s, y, SCREEN_STEP) : 0;
        if (status < 0) return NO_MEMORY;
        tilted t = status ? (tilted){0, 0, 0} : f.floor > 0 ? tilt_bounded(&w->inner, f, y, s) : tilt_free(f, s);
        double term = status ? NAN : f.p * log(f.floor + pr->room) + (f.q - 1) * log(pr->room) - t.log_a;
        others += t.log_a;
        double next = !(term <= top) ? term : top;
        sum = sum * exp(top - next) + exp(term - next);
        top = next;
    }
    *log_z = others + top + log(sum);
    return DONE;
}

/* The saddle of one mass, as far as Newton's method has come, and the derivatives of the logarithm of the integrand there. */
typedef struct { int at; double s, value, slope, bend; } candidate;

/* How many of the candidates, from the first on, may share the nodes of a factor: their modes are near each other. */
static int sharing(factor f, const candidate *c, int n) {
    double curvature, y = tilted_mean(f, c[0].s), most = exp(SHARED_WIDTHS * inner_width(f, c[0].s, y, &curvature));
    int k = 1;
    for (; k < n; k++) {
        double ratio = tilted_mean(f, c[k].s) / y;
        if (!(ratio < most && ratio * most > 1)) break;
    }
    return k;
}

static void add_tilted(candidate *c, tilted t) {
    c->value += t.log_a;
    c->slope -= t.mean;
    c->bend += t.variance;
}

/* One factor's part for every candidate. */
static int add_factor(workspace *w, factor f, candidate *c, int n) {
    for (int k = 0; k < n && f.floor == 0; k++) add_tilted(&c[k], tilt_free(f, c[k].s));
    for (int from = 0, end; from < n && f.floor > 0; from = end) {
        end = from + sharing(f, c + from, n - from);
        double s = sqrt(c[from].s * c[end - 1].s), y = tilted_mean(f, s);
        int status = place_nodes(&w->inner, f, s, y, SCREEN_STEP);
        if (status < 0) return NO_MEMORY;
        for (int k = from; k < end; k++)
            add_tilted(&c[k], status ? (tilted){NAN, 0, 0} : tilt_bounded(&w->inner, f, y, c[k].s));
    }
    return DONE;
}

/* Log Z to within a small factor: the saddle-point approximation, with the inner integrals at the saddle by quadrature.
 * `saddle` knows the means by Laplace's method alone, so Newton's method goes on from there with the true ones. What cannot
 * be estimated is NaN. `c` has room for as many candidates as there are masses. */
static int saddle_point(workspace *w, const problem *pr, int first, int last, candidate *c, double *log_z) {
    int n = 0;
    for (int k = first; k < last; k++) {
        if (pr->m == 1 && pr->mass[k] == 0) log_z[k] = log_z_alone(pr);
        else if (!one_takes_all(pr, pr->mass[k])) c[n++] = (candidate){k, saddle(pr->f, pr->m, pr->mass[k], pr->room), 0, 0, 0};
        else if (log_z_one_large(w, pr, &log_z[k])) return NO_MEMORY;
    }
    w->work += 100.0 * pr->m * n;
    for (int turn = 0; turn < SCREEN_TURNS && n; turn++) {
        for (int k = 0; k < n; k++) {
            double mass = pr->mass[c[k].at], s = c[k].s;
            c[k] = (candidate){c[k].at, s, s * pr->room - mass * log(s), pr->room - mass / s, mass / (s * s)};
        }
        for (int j = 0; j < pr->m; j++)
            if (add_factor(w, pr->f[j], c, n)) return NO_MEMORY;
        int far = 0;
        for (int k = 0; k < n; k++) {
            candidate here = c[k];
            double square = here.slope * here.slope, jump = -here.slope / (here.s * here.bend);
            log_z[here.at] = here.value - 0.5 * square / here.bend - 0.5 * log(2 * PI * here.bend);
            if (!(square > SCREEN_MISS * here.bend)) continue;
            here.s *= exp(jump > 2 ? 2 : jump < -2 ? -2 : jump);
            c[far++] = here;
        }
        n = far;
    }
    return DONE;
}

/* ---- the Python boundary ---------------------------------------------------------------------------------- */

enum { P, Q, FLOORS, OFFSETS, ALPHA, MASS, MASS_OFFSETS, INPUTS };

/* 0 <= offsets rising to `end`, in steps of at least `least`. */
static int offsets_hold(const long long *at, Py_ssize_t n, long long end, int least) {
    if (n < 1 || at[0] != 0 || at[n - 1] != end || end > 0x7fffffff) return 0;
    for (Py_ssize_t i = 1; i < n; i++)
        if (at[i] < at[i - 1] || at[i] - at[i - 1] < least) return 0;
    return 1;
}

static const char *fault(const Py_buffer *b) {
    Py_ssize_t factors = length(&b[P]), problems = length(&b[ALPHA]), masses = length(&b[MASS]);
    const double *p = b[P].buf, *q = b[Q].buf, *floors = b[FLOORS].buf, *alpha = b[ALPHA].buf, *mass = b[MASS].buf;
    const long long *mass_offsets = b[MASS_OFFSETS].buf;
    if (problems > 0x7ffffff) return "there are too many problems";
    if (!offsets_hold(b[OFFSETS].buf, length(&b[OFFSETS]), factors, 1) || length(&b[OFFSETS]) != problems + 1)
        return "offsets do not fit the factors";
    if (!offsets_hold(mass_offsets, length(&b[MASS_OFFSETS]), masses, 0) || length(&b[MASS_OFFSETS]) != problems + 1)
        return "mass_offsets do not fit the masses";
    for (Py_ssize_t i = 0; i < factors; i++) {
        if (!(fabs(p[i]) <= LARGEST_POWER && q[i] >= 1e-9 && q[i] <= LARGEST_POWER)) return "an exponent is out of range";
        if (!(floors[i] >= 0 && floors[i] < 1) || (floors[i] > 0 && floors[i] < TINIEST_FLOOR)) return "a floor is out of range";
        if (floors[i] == 0 && !(p[i] + q[i] > 0)) return "p + q must be positive where there is no floor";
    }
    for (Py_ssize_t i = 0; i < problems; i++) {
        if (!(alpha[i] > -1 && alpha[i] <= LARGEST_POWER)) return "an alpha is out of range";
        for (long long k = mass_offsets[i]; k < mass_offsets[i + 1]; k++) {
            if (!(mass[k] >= 0 && mass[k] <= LARGEST_MASS)) return "a mass is out of range";
            if (k > mass_offsets[i] && mass[k] < mass[k - 1]) return "masses must rise";
        }
    }
    return NULL;
}

static const array ARRAYS[INPUTS + 4] = {
    {"p", 'd', 0}, {"q", 'd', 0}, {"floors", 'd', 0}, {"offsets", 'i', 0}, {"alpha", 'd', 0}, {"mass", 'd', 0},
    {"mass_offsets", 'i', 0}, {"mean", 'd', 1}, {"variance", 'd', 1}, {"log_z", 'd', 1}, {"error", 'd', 1}};
static const array SCREEN_ARRAYS[INPUTS + 1] = {
    {"p", 'd', 0}, {"q", 'd', 0}, {"floors", 'd', 0}, {"offsets", 'i', 0}, {"alpha", 'd', 0}, {"mass", 'd', 0},
    {"mass_offsets", 'i', 0}, {"log_z", 'd', 1}};

/* Every problem in turn, without the interpreter lock. `error` is NULL where only `log_z` is wanted, from the saddle point. */
static int run(const Py_buffer *b, double tolerance, results out, double *error) {
    const double *p = b[P].buf, *q = b[Q].buf, *floors = b[FLOORS].buf, *alpha = b[ALPHA].buf, *mass = b[MASS].buf;
    const long long *offsets = b[OFFSETS].buf, *mass_offsets = b[MASS_OFFSETS].buf;
    int problems = (int)length(&b[ALPHA]), most = 1, most_masses = 1, status = DONE;
    for (int i = 0; i < problems; i++) {
        if (offsets[i + 1] - offsets[i] > most) most = (int)(offsets[i + 1] - offsets[i]);
        if (mass_offsets[i + 1] - mass_offsets[i] > most_masses) most_masses = (int)(mass_offsets[i + 1] - mass_offsets[i]);
    }
    factor *f = malloc((size_t)most * sizeof(factor));
    candidate *candidates = malloc((size_t)most_masses * sizeof(candidate));
    if (!f || !candidates) {
        free(f);
        free(candidates);
        return NO_MEMORY;
    }
    workspace w;
    memset(&w, 0, sizeof w);
    PyThreadState *state = PyEval_SaveThread();
    w.interrupted = signals_arrived;
    w.context = &state;
    for (int i = 0; i < problems && !status; i++) {
        int m = (int)(offsets[i + 1] - offsets[i]), first = (int)mass_offsets[i], last = (int)mass_offsets[i + 1];
        for (int j = 0; j < m; j++)
            f[j] = (factor){p[offsets[i] + j], q[offsets[i] + j], floors[offsets[i] + j]};
        problem pr = {f, m, room_above(floors + offsets[i], m), alpha[i], mass, 0, 0};
        if (!(pr.room > 0)) {
            for (int k = first; k < last; k++) out.log_z[k] = -HUGE_VAL;
            if (error) error[i] = HUGE_VAL;
        } else if (!error) {
            status = saddle_point(&w, &pr, first, last, candidates, out.log_z);
        } else {
            status = solve_problem(&w, &pr, first, last, tolerance, out, &error[i]);
        }
        w.work += m; /* so that a long list of easy problems can be interrupted too */
        if (!status && w.work > 1e6) {
            w.work = 0;
            if (w.interrupted(w.context)) status = INTERRUPTED;
        }
    }
    PyEval_RestoreThread(state);
    free(f);
    free(candidates);
    free_workspace(&w);
    return status;
}

static int raised(int status) {
    if (status == NO_MEMORY) PyErr_NoMemory();
    return status != DONE;
}

static PyObject *solve(PyObject *self, PyObject *args) {
    PyObject *from[INPUTS + 4];
    Py_buffer b[INPUTS + 4];
    double tolerance;
    const int n = INPUTS + 4;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOOOdOOOO:solve", &from[0], &from[1], &from[2], &from[3], &from[4], &from[5], &from[6],
                          &tolerance, &from[7], &from[8], &from[9], &from[10]) ||
        acquire(from, ARRAYS, b, n))
        return NULL;
    if (!same_length(b, ARRAYS, P, Q) || !same_length(b, ARRAYS, P, FLOORS) || !same_length(b, ARRAYS, MASS, INPUTS) ||
        !same_length(b, ARRAYS, MASS, INPUTS + 1) || !same_length(b, ARRAYS, MASS, INPUTS + 2) ||
        !same_length(b, ARRAYS, ALPHA, INPUTS + 3))
        return refuse(b, n, NULL);
    const char *why = tolerance >= 1e-15 && tolerance < 1 ? fault(b) : "tolerance must lie between 1e-15 and 1";
    if (why) return refuse(b, n, why);
    results out = {b[INPUTS].buf, b[INPUTS + 1].buf, b[INPUTS + 2].buf};
    return finish(b, n, raised(run(b, tolerance, out, b[INPUTS + 3].buf)));
}

static PyObject *screen(PyObject *self, PyObject *args) {
    PyObject *from[INPUTS + 1];
    Py_buffer b[INPUTS + 1];
    const int n = INPUTS + 1;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOOOO:screen", &from[0], &from[1], &from[2], &from[3], &from[4], &from[5], &from[6],
                          &from[7]) ||
        acquire(from, SCREEN_ARRAYS, b, n))
        return NULL;
    if (!same_length(b, SCREEN_ARRAYS, P, Q) || !same_length(b, SCREEN_ARRAYS, P, FLOORS) ||
        !same_length(b, SCREEN_ARRAYS, MASS, INPUTS))
        return refuse(b, n, NULL);
    const char *why = fault(b);
    if (why) return refuse(b, n, why);
    return finish(b, n, raised(run(b, 0, (results){NULL, NULL, b[INPUTS].buf}, NULL)));
}

static PyMethodDef methods[] = {
    {"solve", solve, METH_VARARGS,
     "solve(p, q, floors, offsets, alpha, mass, mass_offsets, tolerance, mean, variance, log_z, error)\n\n"
     "Moments of the entropy and log Z; the last four arrays are written. See semtropy.entropy.contour.Problems."},
    {"screen", screen, METH_VARARGS,
     "screen(p, q, floors, offsets, alpha, mass, mass_offsets, log_z)\n\nlog Z from the saddle point, to within a small factor."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "contour", NULL, 0, methods, slots, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_contour(void) { return PyModuleDef_Init(&module); }
