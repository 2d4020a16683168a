/* The contour integrals of semtropy.entropy, compiled. `contour.py` has the same steps in NumPy and says why each
 * is taken; a test holds the two together. This file only makes them fast: loops over inner nodes are written so
 * that the compiler vectorises them, logarithms and exponentials included. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

#define PI 3.14159265358979323846
#define TURN 0.62         /* how far the inner ray follows the turn of s */
#define DECAY 42.0        /* integrands are cut where they fall below exp(-DECAY) of their peak */
#define LEAST_RADIUS 5.5  /* of the path, in units of 1 / room */
#define SERIES_BEYOND 400.0
#define FIRST_PATH 20
#define FIRST_STEP 0.18
#define MOST_PATH 2560
#define LEAST_STEP 0.03
#define SHARED_LOSS 3.0
#define PATH_POWER 1.6
#define INNER_POWER 1.9
#define LANES 8 /* nodes come in whole vectors */

typedef struct { double re, im; } cplx;

static cplx c_mul(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static cplx c_div(cplx a, cplx b) {
    double d = b.re * b.re + b.im * b.im;
    return (cplx){(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
}

static double digamma(double x) {
    double below = 0;
    while (x < 10) below -= 1 / x, x += 1;
    double y = 1 / (x * x);
    return below + log(x) - 0.5 / x -
           y * (1. / 12 - y * (1. / 120 - y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y / 12))))));
}

static double trigamma(double x) {
    double below = 0;
    while (x < 10) below += 1 / (x * x), x += 1;
    double y = 1 / (x * x);
    return below + 1 / x + 0.5 * y +
           y / x * (1. / 6 - y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * (691. / 2730 - y * 7 / 6))))));
}

/* ---- one factor (floor + y)^p y^(q-1) ------------------------------------------------------------------- */

typedef struct { double p, q, floor; } factor;

static double discriminant(factor f, double s) {
    double b = s * f.floor - f.p - f.q;
    return sqrt(b * b + 4 * s * f.q * f.floor);
}

/* The mean of y under the factor times exp(-s y), from s y = q + p y / (floor + y). */
static double typical(factor f, double s) {
    if (f.floor == 0) return (f.p + f.q) / s;
    double b = s * f.floor - f.p - f.q, d = discriminant(f, s);
    return b < 0 ? (d - b) / (2 * s) : 2 * f.q * f.floor / (d + b);
}

static double spread(factor f, double s, double y) {
    return f.floor == 0 ? (f.p + f.q) / (s * s) : y * (y + f.floor) / discriminant(f, s);
}

/* Where the tilted means add up to the room: the real saddle. Newton on log s, kept inside a bracket. */
static double saddle(const factor *f, int m, double unseen, double room) {
    double total = unseen;
    for (int j = 0; j < m; j++) total += f[j].q > f[j].p + f[j].q ? f[j].q : f[j].p + f[j].q;
    double low = 0, high = 1e308, s = total / room;
    for (int turn = 0; turn < 100; turn++) {
        double mean = unseen / s, slope = unseen / (s * s);
        for (int j = 0; j < m; j++) {
            double y = typical(f[j], s);
            mean += y;
            slope += spread(f[j], s, y);
        }
        double excess = mean - room;
        if (fabs(excess) < 1e-6 * room) break;
        if (excess > 0) low = s; else high = s;
        double jump = excess / (s * slope), next = s * exp(jump > 5 ? 5 : jump < -5 ? -5 : jump);
        if (!(next > low)) next = 0.5 * (low + s);
        if (!(next < high)) next = 0.5 * (high + s);
        s = next;
    }
    return s;
}

/* ---- the inner nodes of a factor --------------------------------------------------------------------------- */

typedef struct { double *size, *power; int half, room; } inner_nodes; /* even nodes first, then the odd ones */

static int reserve(inner_nodes *n, int count) {
    if (count <= n->room) return 0;
    free(n->size);
    n->size = malloc(2 * (size_t)count * sizeof(double));
    if (!n->size) return -1;
    n->power = n->size + count;
    n->room = count;
    return 0;
}

static double log_integrand(factor f, double s, double v) {
    double y = exp(v);
    return f.p * log1p(y / f.floor) + f.q * v - s * y;
}

/* The log of the factor's peak over x0^p, so that sums of the scaled integrand are of order one. */
static double peak_scale(factor f, double s, double y, double log_x0) {
    return f.p * (log(f.floor) - log_x0) + log_integrand(f, s, log(y));
}

/* y = exp(v), v = centre + width (u - exp(start - u)): even steps around the mode, doubly fast below it. */
static int place_nodes(inner_nodes *nodes, factor f, double s, double step) {
    double y = typical(f, s), centre = log(y), floor_at = log(f.floor), a = f.p + f.q;
    double curvature = s * y - f.p * f.floor * y / ((f.floor + y) * (f.floor + y));
    double width = curvature > 6.25 ? 2.5 / sqrt(curvature) : 1.0;
    double peak = log_integrand(f, s, centre), right = centre + width;
    while (log_integrand(f, s, right) > peak - DECAY) right += width;
    int floor_matters = (centre - floor_at) * a < DECAY;
    double bend = floor_matters && floor_at < centre ? floor_at : centre;
    double exponent = floor_matters ? f.q : a;
    double start = (bend - centre) / width - 1.5, reach = DECAY / (exponent * width);
    double last = (right - centre) / width + 0.2, first = start - log(reach > 1 ? reach : 1) - 0.5;
    int half = ((int)ceil((last - first) / (2 * step)) + LANES - 1) / LANES * LANES;
    if (reserve(nodes, 2 * half)) return -1;
    nodes->half = half;
    for (int i = 0; i < 2 * half; i++) {
        int at = i % 2 ? half + i / 2 : i / 2;
        double u = last - (i + 0.5) * step, tail = exp(start - u), v = centre + width * (u - tail);
        nodes->size[at] = exp(v);
        nodes->power[at] = f.q * v + log(width * (1 + tail) * step);
    }
    return 0;
}

typedef struct { double a_re, a_im, b_re, b_im, c_re, c_im; } sums;
typedef struct { cplx s, ds, log_s, invert, turn; } place;          /* a node of the path; turn: of its inner rays */
typedef struct { cplx weight, first, second; } value;               /* the integrand's factors there, gathered */
typedef struct { double y, x0, log_x0, scale, lean; } centre;       /* what a factor's sums are taken around; lean: log x0 + slope + 1 */

/* Sums of the integrand weighted by 1, w and w^2, w = phi(x) - phi(x0) - slope (x - x0), at one s. The sine is
 * written as a cosine because a compiler that pairs the two into one call cannot vectorise them. */
VECTORISED static sums add_near(const double *restrict size, const double *restrict power, int n, factor f, centre c,
                                place at) {
    double a_re = 0, a_im = 0, b_re = 0, b_im = 0, c_re = 0, c_im = 0, p = f.p, floor = f.floor, typical_y = c.y;
    double k = c.lean - 1, invert = 1 / c.x0, s_re = at.s.re, s_im = at.s.im, scale = c.scale;
    double cosine = at.turn.re, sine = -at.turn.im, constant = -f.q * TURN * at.log_s.im;
#pragma omp simd reduction(+ : a_re, a_im, b_re, b_im, c_re, c_im)
    for (int i = 0; i < n / LANES * LANES; i++) {
        double y_re = size[i] * cosine, y_im = size[i] * sine, x_re = floor + y_re;
        double a = fabs(x_re), b = fabs(y_im), large = a > b ? a : b, ratio = (a > b ? b : a) / large; /* no underflow */
        double l_re = log(large * invert * sqrt(1 + ratio * ratio)), l_im = atan2(y_im, x_re);
        double grow = exp(p * l_re + power[i] - (s_re * y_re - s_im * y_im) - scale);
        double phase = p * l_im + constant - (s_re * y_im + s_im * y_re);
        double f_re = grow * cos(phase), f_im = grow * cos(phase - 0.5 * PI), d_re = y_re - typical_y;
        double w_re = -d_re * k - (x_re * l_re - y_im * l_im), w_im = -y_im * k - (x_re * l_im + y_im * l_re);
        double g_re = f_re * w_re - f_im * w_im, g_im = f_re * w_im + f_im * w_re;
        a_re += f_re;
        a_im += f_im;
        b_re += g_re;
        b_im += g_im;
        c_re += g_re * w_re - g_im * w_im;
        c_im += g_re * w_im + g_im * w_re;
    }
    return (sums){a_re, a_im, b_re, b_im, c_re, c_im};
}

/* The same where y is small beside the floor: log(x / x0) and the curved part of w from their series. */
VECTORISED static sums add_far(const double *restrict size, const double *restrict power, int n, factor f, centre c,
                               place at) {
    double a_re = 0, a_im = 0, b_re = 0, b_im = 0, c_re = 0, c_im = 0, p = f.p, typical_y = c.y, x0 = c.x0;
    double k = c.lean, invert = 1 / c.x0, s_re = at.s.re, s_im = at.s.im, scale = c.scale;
    double cosine = at.turn.re, sine = -at.turn.im, constant = -f.q * TURN * at.log_s.im;
#pragma omp simd reduction(+ : a_re, a_im, b_re, b_im, c_re, c_im)
    for (int i = 0; i < n / LANES * LANES; i++) {
        double y_re = size[i] * cosine, y_im = size[i] * sine, d_re = y_re - typical_y;
        double e_re = d_re * invert, e_im = y_im * invert;
        double l_re = 0, l_im = 0, r_re = 0, r_im = 0; /* log(1+e)/e and ((1+e) log(1+e) - e)/e^2 by Horner */
        for (int t = 16; t >= 1; t--) {
            double sign = t % 2 ? 1.0 : -1.0, h_re = e_re * l_re - e_im * l_im + sign / t;
            l_im = e_re * l_im + e_im * l_re;
            l_re = h_re;
            h_re = e_re * r_re - e_im * r_im + sign / (t * (t + 1.0));
            r_im = e_re * r_im + e_im * r_re;
            r_re = h_re;
        }
        double log_re = e_re * l_re - e_im * l_im, log_im = e_re * l_im + e_im * l_re;
        double q_re = e_re * e_re - e_im * e_im, q_im = 2 * e_re * e_im;
        double curve_re = q_re * r_re - q_im * r_im, curve_im = q_re * r_im + q_im * r_re;
        double grow = exp(p * log_re + power[i] - (s_re * y_re - s_im * y_im) - scale);
        double phase = p * log_im + constant - (s_re * y_im + s_im * y_re);
        double f_re = grow * cos(phase), f_im = grow * cos(phase - 0.5 * PI);
        double w_re = -d_re * k - x0 * curve_re, w_im = -y_im * k - x0 * curve_im;
        double g_re = f_re * w_re - f_im * w_im, g_im = f_re * w_im + f_im * w_re;
        a_re += f_re;
        a_im += f_im;
        b_re += g_re;
        b_im += g_im;
        c_re += g_re * w_re - g_im * w_im;
        c_im += g_re * w_im + g_im * w_re;
    }
    return (sums){a_re, a_im, b_re, b_im, c_re, c_im};
}

/* ---- the path ------------------------------------------------------------------------------------------- */

typedef struct { const factor *f; int m; double room, alpha; const double *mass; int first, last; } problem;
typedef struct {
    double sigma, reach, step; /* radius and angle of the path, step of the inner nodes */
    int n;                     /* nodes of the path */
    double slope, constant, log_scale;
    double anchor_floor, anchor_y, lean; /* the slope is that of this point, and a mean of small differences */
} plan;
typedef struct {
    place *at;
    value *full, *half; /* with all inner nodes, and with every other one */
    int room;
    inner_nodes inner;
} workspace;

static int reserve_path(workspace *w, int n) {
    if (n <= w->room) return 0;
    place *at = realloc(w->at, (size_t)n * sizeof(place));
    if (at) w->at = at;
    value *full = realloc(w->full, (size_t)n * sizeof(value));
    if (full) w->full = full;
    value *half = realloc(w->half, (size_t)n * sizeof(value));
    if (half) w->half = half;
    if (!at || !full || !half) return -1;
    w->room = n;
    return 0;
}

static cplx c_exp(double re, double im) {
    double size = exp(re);
    return (cplx){size * cos(im), size * sin(im)};
}

/* A block of gamma mass whose split has an entropy of its own, closed form: unseen meanings, or one without a floor.
 * `tilt` is that entropy's mean less digamma(mass + 1) and the slope, `steady` the part of its spread free of s. */
typedef struct { double mass, tilt, steady; } block;

static block make_block(double mass, double digamma_each, double variance, double slope) {
    return (block){mass, -digamma_each - slope, (mass + 1) * (trigamma(mass + 2) + variance) + 1 / (mass + 1)};
}

static void add_block(const place *at, block b, cplx *first, cplx *second) {
    cplx d = {b.tilt + at->log_s.re, at->log_s.im}, over = {b.mass * at->invert.re, b.mass * at->invert.im};
    cplx mean = c_mul(over, d), square = c_mul(d, d);
    cplx spread = c_mul(c_mul(over, at->invert), (cplx){b.steady + square.re - 2 * d.re, square.im - 2 * d.im});
    first->re += mean.re;
    first->im += mean.im;
    second->re += spread.re;
    second->im += spread.im;
}

static void add_sums(value *v, sums t) {
    cplx a = {t.a_re, t.a_im}, invert = c_div((cplx){1, 0}, a), b = c_mul((cplx){t.b_re, t.b_im}, invert);
    cplx c = c_mul((cplx){t.c_re, t.c_im}, invert), square = c_mul(b, b);
    v->weight = c_mul(v->weight, a);
    v->first.re += b.re;
    v->first.im += b.im;
    v->second.re += c.re - square.re;
    v->second.im += c.im - square.im;
}

static sums both(sums x, sums y) {
    return (sums){x.a_re + y.a_re, x.a_im + y.a_im, x.b_re + y.b_re, x.b_im + y.b_im, x.c_re + y.c_re, x.c_im + y.c_im};
}

static void lay_path(workspace *w, const problem *pr, const plan *pl, int from, int by) {
    for (int i = from; i < pl->n; i += by) {
        double t = i * pl->reach / pl->n, sine = sin(t), cot = i ? cos(t) / sine : 0;
        cplx s = {i ? pl->sigma * t * cot : pl->sigma, pl->sigma * t};
        cplx ds = {i ? pl->sigma * (cot - t / (sine * sine)) : 0, pl->sigma}, zero = {0, 0};
        w->at[i] = (place){s, ds, {log(i ? pl->sigma * t / sine : pl->sigma), t}, c_div((cplx){1, 0}, s),
                           {cos(TURN * t), sin(TURN * t)}};
        w->full[i] = (value){c_exp((s.re - pl->sigma) * pr->room, s.im * pr->room), zero, zero};
        w->half[i] = w->full[i];
    }
}

/* log(floor + y) less that of the anchor, to all digits when the two are close; volatile keeps the order of operations. */
static double difference(const plan *pl, double floor, double y) {
    volatile double floors = floor - pl->anchor_floor, ys = y - pl->anchor_y;
    double ratio = (floors + ys) / (pl->anchor_floor + pl->anchor_y);
    return fabs(ratio) < 0.5 ? log1p(ratio) : log(floor + y) - log(pl->anchor_floor + pl->anchor_y);
}

/* The seen factors at the nodes from, from + by, ... of the path. */
static int gather(workspace *w, const problem *pr, const plan *pl, int from, int by) {
    lay_path(w, pr, pl, from, by);
    for (int j = 0; j < pr->m; j++) {
        factor f = pr->f[j];
        double y = typical(f, pl->sigma);
        if (f.floor == 0) {
            double a = f.p + f.q, log_sigma = log(pl->sigma);
            block b = make_block(a, digamma(a + 1), 0, pl->slope);
            for (int i = from; i < pl->n; i += by) {
                cplx power = c_exp(-a * (w->at[i].log_s.re - log_sigma), -a * w->at[i].log_s.im);
                w->full[i].weight = c_mul(w->full[i].weight, power);
                w->half[i].weight = c_mul(w->half[i].weight, power);
                add_block(&w->at[i], b, &w->full[i].first, &w->full[i].second);
                add_block(&w->at[i], b, &w->half[i].first, &w->half[i].second);
            }
            continue;
        }
        if (place_nodes(&w->inner, f, pl->sigma, pl->step)) return -1;
        centre c = {y, f.floor + y, log(f.floor + y), 0, difference(pl, f.floor, y) - pl->lean};
        c.scale = peak_scale(f, pl->sigma, y, c.log_x0);
        int half = w->inner.half, far = pl->sigma * c.x0 > SERIES_BEYOND && f.floor > y;
        const double *size = w->inner.size, *power = w->inner.power;
        for (int i = from; i < pl->n; i += by) {
            sums even = far ? add_far(size, power, half, f, c, w->at[i])
                            : add_near(size, power, half, f, c, w->at[i]);
            sums odd = far ? add_far(size + half, power + half, half, f, c, w->at[i])
                           : add_near(size + half, power + half, half, f, c, w->at[i]);
            add_sums(&w->full[i], both(even, odd));
            add_sums(&w->half[i], both(even, even));
        }
    }
    return 0;
}

/* What all nodes of a path share: the reference slope, the constant part of the entropy, the scale of the weights. */
static void reference(const problem *pr, plan *pl) {
    double mass = 0, lean = 0, middle = 0;
    pl->anchor_floor = pr->f[0].floor;
    pl->anchor_y = typical(pr->f[0], pl->sigma);
    for (int j = 0; j < pr->m; j++) {
        double y = typical(pr->f[j], pl->sigma);
        mass += y;
        lean += y * difference(pl, pr->f[j].floor, y);
    }
    if (pr->alpha < 0) { /* seen meanings may have next to no mass: the unseen ones have a say, by their mean logarithm */
        double block = 0.5 * (pr->mass[pr->first] + pr->mass[pr->last - 1]), y = block / pl->sigma;
        mass += y;
        lean += y * (log(y) + digamma(pr->alpha + 1) - digamma(block + 1) - log(pl->anchor_floor + pl->anchor_y));
    }
    pl->lean = lean / mass;
    pl->slope = -log(pl->anchor_floor + pl->anchor_y) - pl->lean - 1;
    pl->constant = 0;
    pl->log_scale = pl->sigma * pr->room;
    for (int j = 0; j < pr->m; j++) {
        factor f = pr->f[j];
        double y = typical(f, pl->sigma), x0 = f.floor + y;
        if (f.floor == 0) {
            pl->log_scale += lgamma(f.p + f.q) - (f.p + f.q) * log(pl->sigma);
        } else {
            pl->log_scale += peak_scale(f, pl->sigma, y, log(x0)) + f.p * log(x0);
            pl->constant -= x0 * log(x0);
            middle += y;
        }
    }
    pl->constant += pl->slope * (pr->room - middle);
}

typedef struct { double mean, variance, log_z, tail, left; } answer;
/* tail: the last node's weight over the largest's; left: what cancellation leaves of the largest weight */

/* Trapezium rule on the upper half of the path, nodes 0, stride, ...; `power` is each node's unseen factor. The second
 * pass is around the mean found by the first, so that no digits of a small variance cancel. */
static answer along(const plan *pl, const place *at, const value *v, const cplx *power, const block *b, int stride,
                    value *scratch) {
    double z = 0, first = 0, second = 0, top = 0, size = 0, around = v[0].first.re;
    for (int i = 0; i < pl->n; i += stride) {
        value own = {c_mul(c_mul(v[i].weight, power[i]), at[i].ds), v[i].first, v[i].second};
        if (b) add_block(&at[i], *b, &own.first, &own.second);
        if (i == 0) {
            own.weight.re *= 0.5;
            own.weight.im *= 0.5;
            around = own.first.re;
        }
        own.first.re -= around; /* the saddle's value, where the mass is */
        z += own.weight.im;
        first += c_mul(own.weight, own.first).im;
        size = fabs(own.weight.re) + fabs(own.weight.im);
        if (size > top) top = size;
        scratch[i] = own;
    }
    double shift = first / z;
    for (int i = 0; i < pl->n; i += stride) {
        cplx off = {scratch[i].first.re - shift, scratch[i].first.im}, square = c_mul(off, off);
        second += c_mul(scratch[i].weight, (cplx){square.re + scratch[i].second.re, square.im + scratch[i].second.im}).im;
    }
    return (answer){around + shift, second / z, z > 0 ? log(z * pl->reach / pl->n * stride / PI) : -1e308, size / top, z / top};
}

typedef struct { double mean, variance; } miss;

static void widen(miss *worst, answer rough, answer fine) {
    double mean = fabs(rough.mean - fine.mean), variance = fabs(rough.variance / fine.variance - 1);
    if (!(mean <= worst->mean)) worst->mean = mean;
    if (!(variance <= worst->variance)) worst->variance = variance;
}

typedef struct { double *mean, *variance, *log_z; } results;

/* Every support size of the group from the gathered nodes; the misses of rules with half the nodes. */
static int read_off(workspace *w, const problem *pr, const plan *pl, results out, miss *path, miss *inner, double *tail,
                    double *left) {
    value *scratch = malloc((size_t)pl->n * (sizeof(value) + sizeof(cplx)));
    if (!scratch) return -1;
    cplx *power = (cplx *)(scratch + pl->n);
    double log_sigma = log(pl->sigma);
    for (int k = pr->first; k < pr->last; k++) {
        double mass = pr->mass[k];
        double within = (pr->alpha + 1) / (mass + 1) * trigamma(pr->alpha + 1) - trigamma(mass + 1);
        block b = make_block(mass, digamma(pr->alpha + 1), within > 0 ? within : 0, pl->slope), *unseen = mass > 0 ? &b : NULL;
        for (int i = 0; i < pl->n; i++)
            power[i] = mass > 0 ? c_exp(-mass * (w->at[i].log_s.re - log_sigma), -mass * w->at[i].log_s.im) : (cplx){1, 0};
        answer fine = along(pl, w->at, w->full, power, unseen, 1, scratch);
        widen(path, along(pl, w->at, w->full, power, unseen, 2, scratch), fine);
        widen(inner, along(pl, w->at, w->half, power, unseen, 1, scratch), fine);
        if (fine.tail > *tail) *tail = fine.tail;
        if (fine.left < *left) *left = fine.left;
        out.mean[k] = fine.mean + pl->constant;
        out.variance[k] = fine.variance;
        out.log_z[k] = fine.log_z + pl->log_scale - mass * log_sigma;
    }
    free(scratch);
    return 0;
}

/* What is left of a miss once the nodes are doubled, over what is allowed. An exponentially convergent rule squares
 * its error then; the powers here are what held on thousands of random problems. */
static double left_over(miss m, double power, double tolerance) {
    double mean = 2 * pow(m.mean, power) / tolerance, variance = 2 * pow(m.variance, power) / (100 * tolerance);
    return mean > variance ? mean : variance;
}

/* Twice the nodes on the same path: those there are become the even ones. */
static int refine_path(workspace *w, const problem *pr, plan *pl) {
    if (reserve_path(w, 2 * pl->n)) return -1;
    for (int i = pl->n - 1; i > 0; i--) {
        w->at[2 * i] = w->at[i];
        w->full[2 * i] = w->full[i];
        w->half[2 * i] = w->half[i];
    }
    pl->n *= 2;
    return gather(w, pr, pl, 1, 2);
}

static int one_group(workspace *w, const problem *pr, double tolerance, results out, double *error) {
    double least = saddle(pr->f, pr->m, pr->mass[pr->first], pr->room) * pr->room;
    double middle = 0.5 * (pr->mass[pr->first] + pr->mass[pr->last - 1]);
    plan pl = {saddle(pr->f, pr->m, middle, pr->room), least > 12 ? sqrt(2 * DECAY / least) : PI, FIRST_STEP, FIRST_PATH, 0, 0, 0};
    if (pl.sigma * pr->room < LEAST_RADIUS) pl.sigma = LEAST_RADIUS / pr->room;
    if (pl.reach > PI) pl.reach = PI;
    reference(pr, &pl);
    if (reserve_path(w, pl.n) || gather(w, pr, &pl, 0, 1)) return -1;
    for (;;) {
        miss path = {0, 0}, inner = {0, 0};
        double tail = 0, left = 1;
        if (read_off(w, pr, &pl, out, &path, &inner, &tail, &left)) return -1;
        if (left < 1e-11 && pl.n > FIRST_PATH) { /* rounding is all there is: a density with no mass where it must be */
            *error = 1;
            return 0;
        }
        if (pl.reach < PI && tail > 1e-13) { /* the path was cut off too early */
            pl.reach = 1.5 * pl.reach < PI ? 1.5 * pl.reach : PI;
            if (gather(w, pr, &pl, 0, 1)) return -1;
            continue;
        }
        double on_path = left_over(path, PATH_POWER, tolerance), within = left_over(inner, INNER_POWER, tolerance);
        int more_path = !(on_path <= 1) && pl.n < MOST_PATH, more_inner = !(within <= 1) && pl.step > LEAST_STEP;
        if (!more_path && !more_inner) {
            double worst = tolerance * (on_path > within ? on_path : within);
            if (!(worst <= *error)) *error = worst;
            return 0;
        }
        if (more_inner) {
            pl.step /= 2;
            pl.n *= more_path ? 2 : 1;
            if (reserve_path(w, pl.n) || gather(w, pr, &pl, 0, 1)) return -1;
        } else if (refine_path(w, pr, &pl)) {
            return -1;
        }
    }
}

/* ---- problems ------------------------------------------------------------------------------------------- */

/* 1 - sum of floors without rounding; volatile keeps -ffast-math from undoing the compensation. */
static double room_above(const double *floors, int m) {
    volatile double sum = 1, lost = 0;
    for (int j = 0; j < m; j++) {
        volatile double x = -floors[j], next = sum + x, big = fabs(sum) >= fabs(x) ? sum : x, small = big == sum ? x : sum;
        volatile double gone = big - next;
        lost += gone + small;
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
        log_gammas += lgamma(a);
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
    out.log_z[k] = log_gammas - lgamma(total);
}

/* How much a path made for mass `other` loses on a problem of mass `own`, as the logarithm of a ratio. */
static double loss(double own, double other) { return other - own - own * log(other / own); }

static int solve(workspace *w, problem *pr, int first, int last, double tolerance, results out, double *error) {
    int floors = 0;
    double base = 0;
    for (int j = 0; j < pr->m; j++) {
        floors += pr->f[j].floor > 0;
        base += pr->f[j].floor > 0 ? pr->f[j].q : pr->f[j].p + pr->f[j].q;
    }
    *error = 0;
    int k = first;
    while (k < last) {
        if (pr->m == 1 && pr->mass[k] == 0) { /* one meaning, all the mass */
            out.mean[k] = out.variance[k] = 0;
            out.log_z[k] = (pr->f[0].q - 1) * log(pr->room) * (floors > 0);
            k++;
        } else if (!floors) {
            dirichlet(pr, k, out);
            k++;
        } else {
            int end = k + 1;
            double own = base + pr->mass[k];
            while (end < last && pr->mass[end] > 0 && loss(own, base + pr->mass[end]) < SHARED_LOSS) end++;
            pr->first = k;
            pr->last = end;
            if (one_group(w, pr, tolerance, out, error)) return -1;
            k = end;
        }
    }
    return 0;
}

/* Log Z to within a small factor, from the saddle point alone: enough to see which sizes can matter. The inner integrals
 * are taken as gamma integrals of the same mode and curvature. */
static void saddle_point(const problem *pr, int first, int last, double *log_z) {
    for (int k = first; k < last; k++) {
        double mass = pr->mass[k], s = saddle(pr->f, pr->m, mass, pr->room), curvature = mass / (s * s);
        double log_value = s * pr->room - mass * log(s);
        for (int j = 0; j < pr->m; j++) {
            factor f = pr->f[j];
            double y = typical(f, s), shape = f.p + f.q;
            curvature += spread(f, s, y);
            if (f.floor == 0) {
                log_value += lgamma(shape) - shape * log(s);
                continue;
            }
            shape = s * y - f.p * f.floor * y / ((f.floor + y) * (f.floor + y));
            log_value += f.p * log(f.floor + y) + f.q * log(y) - s * y + lgamma(shape) - shape * log(shape) + shape;
        }
        log_z[k] = log_value - 0.5 * log(2 * PI * curvature);
        if (pr->m == 1 && pr->mass[k] == 0) log_z[k] = pr->f[0].floor > 0 ? (pr->f[0].q - 1) * log(pr->room) : 0;
    }
}

/* contour(p, q, floors, offsets, alpha, mass, mass_offsets, tolerance, mean, variance, log_z, error)
 *
 * Problem i has the factors offsets[i]..offsets[i+1] and the masses of its unseen meanings mass_offsets[i]..[i+1],
 * rising. float64 and int64 buffers; the last four are written. A tolerance of 1 asks for `saddle_point` only. */
static PyObject *contour_integrals(PyObject *self, PyObject *args) {
    Py_buffer b[11];
    double tolerance;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*dw*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &tolerance,
                          &b[7], &b[8], &b[9], &b[10]))
        return NULL;
    const double *p = b[0].buf, *q = b[1].buf, *floors = b[2].buf, *alpha = b[4].buf, *mass = b[5].buf;
    const long long *offsets = b[3].buf, *mass_offsets = b[6].buf;
    results out = {b[7].buf, b[8].buf, b[9].buf};
    double *error = b[10].buf;
    int problems = (int)(b[4].len / (Py_ssize_t)sizeof(double)), failed = 0, most = 0, screen = tolerance >= 1;
    for (int i = 0; i < problems; i++)
        if (offsets[i + 1] - offsets[i] > most) most = (int)(offsets[i + 1] - offsets[i]);
    workspace w;
    memset(&w, 0, sizeof w);
    factor *f = malloc((size_t)(most ? most : 1) * sizeof(factor));
    failed = !f;
    Py_BEGIN_ALLOW_THREADS
    for (int i = 0; i < problems && !failed; i++) {
        int m = (int)(offsets[i + 1] - offsets[i]);
        for (int j = 0; j < m; j++)
            f[j] = (factor){p[offsets[i] + j], q[offsets[i] + j], floors[offsets[i] + j]};
        problem pr = {f, m, room_above(floors + offsets[i], m), alpha[i], mass, 0, 0};
        if (screen) {
            saddle_point(&pr, (int)mass_offsets[i], (int)mass_offsets[i + 1], out.log_z);
            continue;
        }
        failed = solve(&w, &pr, (int)mass_offsets[i], (int)mass_offsets[i + 1], tolerance, out, &error[i]);
    }
    Py_END_ALLOW_THREADS
    free(f);
    free(w.at);
    free(w.full);
    free(w.half);
    free(w.inner.size);
    for (int i = 0; i < 11; i++) PyBuffer_Release(&b[i]);
    if (failed) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"contour", contour_integrals, METH_VARARGS, "Moments and evidence by contour integration."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "contour", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_contour(void) { return PyModule_Create(&module); }
