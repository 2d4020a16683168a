/* The path of the contour integral, the integrand at its nodes, and the sums along it. */

#ifndef SEMTROPY_PATH_H
#define SEMTROPY_PATH_H

#include <string.h>

#include "factor.h"

#define LEAST_RADIUS 5.5 /* of the path, in units of 1 / room */
#define NARROW 1.0       /* paths shorter than this angle take out e^(-s y): see `gather` */
#define FIRST_PATH 20
#define FIRST_STEP 0.18
#define QUICK_FROM 1e-7 /* tolerances from here on begin with fewer inner nodes */
#define QUICK_STEP 0.25
#define COARSE_FROM 1e-6 /* and from here on with fewer still, and a shorter path */
#define COARSE_PATH 14
#define COARSE_STEP 0.4
#define MOST_PATH 10240
#define LEAST_STEP 0.006
#define PATH_POWER 1.6
#define INNER_POWER 1.9
#define LEAST_LEFT 1e-11 /* where cancellation leaves less of the largest weight, the sum is nothing but rounding */

enum { DONE = 0, BEYOND_DOUBLES = 1, NO_MEMORY = -1, INTERRUPTED = -2 };

typedef struct { const factor *f; int m; double room, alpha; const double *mass; int first, last; } problem;
typedef struct {
    double sigma, reach, step; /* radius and angle of the path, step of the inner nodes */
    int n;                     /* nodes of the path */
    double slope, constant, log_scale;
    double middle, free_shape;           /* sum of y over factors with a floor, of p + q over those without */
    double anchor_floor, anchor_y, lean; /* the slope is that of this point, and a mean of small differences */
} plan;
typedef struct { double t, rise; cplx s, ds, log_s, invert; } place; /* a node of the path: rise = log |s| - log sigma */
typedef struct { cplx weight, first, second; int exponent; } value;  /* weight * 2^exponent, and cumulants of the entropy */
typedef struct {
    place *at;
    value *full, *half; /* with all inner nodes, and with every other one */
    int room;
    inner_nodes inner;
    double work;                 /* inner nodes evaluated since signals were last looked at */
    int (*interrupted)(void *);  /* NULL, or asked now and then whether to stop */
    void *context;
} workspace;

static int reserve_path(workspace *w, int n) {
    if (n <= w->room) return 0;
    place *at = realloc(w->at, (size_t)n * sizeof(place));
    if (at) w->at = at;
    value *full = realloc(w->full, (size_t)n * sizeof(value));
    if (full) w->full = full;
    value *half = realloc(w->half, (size_t)n * sizeof(value));
    if (half) w->half = half;
    if (!at || !full || !half) return NO_MEMORY;
    w->room = n;
    return 0;
}

static void free_workspace(workspace *w) {
    free(w->at);
    free(w->full);
    free(w->half);
    free(w->inner.size);
}

/* A gamma block whose split has entropy itself, closed form: unseen meanings, or one seen without a floor.
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

/* One factor's sums at one node. Products of a thousand factors would leave the range of doubles: the exponent is kept. */
static void add_sums(value *v, sums t) {
    double size = fabs(t.a_re) > fabs(t.a_im) ? fabs(t.a_re) : fabs(t.a_im);
    if (size < 1e-290) { /* a node so far out that nothing is left of it */
        v->weight = (cplx){0, 0};
        return;
    }
    double by = 1 / size;
    cplx a = {t.a_re * by, t.a_im * by}, invert = c_div((cplx){1, 0}, a), b = c_mul((cplx){t.b_re * by, t.b_im * by}, invert);
    cplx c = c_mul((cplx){t.c_re * by, t.c_im * by}, invert), square = c_mul(b, b);
    v->weight = c_mul(v->weight, (cplx){t.a_re, t.a_im});
    v->first.re += b.re;
    v->first.im += b.im;
    v->second.re += c.re - square.re;
    v->second.im += c.im - square.im;
    size = fabs(v->weight.re) + fabs(v->weight.im);
    if ((size < 1e-100 && size > 0) || (size > 1e100 && size <= 1.7e308)) {
        int exponent;
        (void)frexp(size, &exponent);
        v->weight.re = ldexp(v->weight.re, -exponent);
        v->weight.im = ldexp(v->weight.im, -exponent);
        v->exponent += exponent;
    }
}

static void lay_path(workspace *w, const problem *pr, const plan *pl, int from, int by) {
    double log_sigma = log(pl->sigma), room = pr->room - (pl->reach < NARROW ? pl->middle : 0);
    for (int i = from; i < pl->n; i += by) {
        double t = i * pl->reach / pl->n, down = fall(t), up = rise(t);
        cplx s = {pl->sigma * (1 + down), pl->sigma * t}, zero = {0, 0};
        cplx ds = {i ? pl->sigma * (down - expm1(2 * up)) / t : 0, pl->sigma};
        w->at[i] = (place){t, up, s, ds, {log_sigma + up, t}, c_div((cplx){1, 0}, s)};
        cplx weight = c_exp(pl->sigma * down * room - pl->free_shape * up, t * (pl->sigma * room - pl->free_shape));
        w->full[i] = w->half[i] = (value){weight, zero, zero, 0};
    }
}

/* log of (floor + y) less that of the anchor, with all digits when the two are nearly equal. */
static double difference(const plan *pl, double floor, double y) {
    double ratio = ((floor - pl->anchor_floor) + (y - pl->anchor_y)) / (pl->anchor_floor + pl->anchor_y);
    return fabs(ratio) < 0.5 ? log1p(ratio) : log(floor + y) - log(pl->anchor_floor + pl->anchor_y);
}

static void gather_free(workspace *w, const plan *pl, factor f, int from, int by) {
    block b = make_block(f.p + f.q, digamma(f.p + f.q + 1), 0, pl->slope);
    for (int i = from; i < pl->n; i += by) {
        add_block(&w->at[i], b, &w->full[i].first, &w->full[i].second);
        add_block(&w->at[i], b, &w->half[i].first, &w->half[i].second);
    }
}

/* A factor with a floor. Its sums are divided by (floor + y)^p y^q e^(-sigma y), and on narrow paths by e^(-(s - sigma) y)
 * as well, which `lay_path` has for all factors together: with counts of a million that term alone costs six digits. */
static int gather_bounded(workspace *w, const plan *pl, factor f, int from, int by) {
    double y = tilted_mean(f, pl->sigma), x0 = f.floor + y;
    int status = place_nodes(&w->inner, f, pl->sigma, y, pl->step);
    if (status) return status;
    int series = stays_near(&w->inner, y, x0, TURN * pl->reach), narrow = pl->reach < NARROW;
    double lean = difference(pl, f.floor, y) - pl->lean;
    for (int i = from; i < pl->n; i += by) {
        const place *at = &w->at[i];
        double turn = TURN * at->t, sine = sin(0.5 * turn), square = sine * sine;
        ray r = {x0, lean, at->s.re, at->s.im, cos(turn), -sin(turn), 2 * y * square, square, 0, -f.q * turn};
        if (!narrow) {
            r.base_re -= (at->s.re - pl->sigma) * y;
            r.base_im -= at->s.im * y;
        }
        sums even = series ? add_series(&w->inner, 0, f, &r) : add_direct(&w->inner, 0, f, &r);
        sums odd = series ? add_series(&w->inner, w->inner.half, f, &r) : add_direct(&w->inner, w->inner.half, f, &r);
        add_sums(&w->full[i], add(even, odd));
        add_sums(&w->half[i], add(even, even));
    }
    w->work += 2.0 * w->inner.half * pl->n / by;
    if (w->work > 1e6 && w->interrupted) {
        w->work = 0;
        if (w->interrupted(w->context)) return INTERRUPTED;
    }
    return DONE;
}

/* The seen factors at the nodes from, from + by, ... of the path. */
static int gather(workspace *w, const problem *pr, const plan *pl, int from, int by) {
    lay_path(w, pr, pl, from, by);
    for (int j = 0; j < pr->m; j++) {
        int status = DONE;
        if (pr->f[j].floor == 0) gather_free(w, pl, pr->f[j], from, by);
        else status = gather_bounded(w, pl, pr->f[j], from, by);
        if (status) return status;
    }
    return DONE;
}

/* What all nodes of a path share: the reference slope, the constant part of the entropy, the scale of the weights. */
static void reference(const problem *pr, plan *pl) {
    double mass = 0, lean = 0;
    pl->anchor_floor = pr->f[0].floor;
    pl->anchor_y = tilted_mean(pr->f[0], pl->sigma);
    for (int j = 0; j < pr->m; j++) {
        double y = tilted_mean(pr->f[j], pl->sigma);
        mass += y;
        lean += y * difference(pl, pr->f[j].floor, y);
    }
    if (pr->alpha < 0) { /* seen meanings may have almost no mass: the unseen ones take part, by their mean logarithm */
        double block = 0.5 * (pr->mass[pr->first] + pr->mass[pr->last - 1]), y = block / pl->sigma;
        mass += y;
        lean += y * (log(y) + digamma(pr->alpha + 1) - digamma(block + 1) - log(pl->anchor_floor + pl->anchor_y));
    }
    pl->lean = lean / mass;
    pl->slope = -log(pl->anchor_floor + pl->anchor_y) - pl->lean - 1;
    pl->constant = pl->middle = pl->free_shape = 0;
    pl->log_scale = pl->sigma * pr->room;
    for (int j = 0; j < pr->m; j++) {
        factor f = pr->f[j];
        double y = tilted_mean(f, pl->sigma), x0 = f.floor + y;
        if (f.floor == 0) {
            pl->log_scale += log_gamma(f.p + f.q) - (f.p + f.q) * log(pl->sigma);
            pl->free_shape += f.p + f.q;
        } else {
            pl->log_scale += f.p * log(x0) + f.q * log(y) - pl->sigma * y;
            pl->constant -= x0 * log(x0);
            pl->middle += y;
        }
    }
    pl->constant += pl->slope * (pr->room - pl->middle);
}

typedef struct { double mean, variance, log_z, tail, left; } answer;
/* tail: the last node's weight over the largest's; left: what cancellation leaves of the largest weight */

/* Trapezium rule on the upper half of the path, nodes 0, stride, ...; `power` is each node's unseen factor. The second
 * pass is around the mean found by the first, so that no digits of a small variance cancel. */
static answer along(const plan *pl, const place *at, const value *v, const cplx *power, const block *b, int stride,
                    value *scratch) {
    double z = 0, first = 0, second = 0, top = 0, size = 0, around = v[0].first.re;
    int exponent = v[0].exponent;
    for (int i = stride; i < pl->n; i += stride)
        if (v[i].exponent > exponent) exponent = v[i].exponent;
    for (int i = 0; i < pl->n; i += stride) {
        value here = {c_mul(c_mul(v[i].weight, power[i]), at[i].ds), v[i].first, v[i].second, 0};
        if (b) add_block(&at[i], *b, &here.first, &here.second);
        if (v[i].exponent != exponent) {
            here.weight.re = ldexp(here.weight.re, v[i].exponent - exponent);
            here.weight.im = ldexp(here.weight.im, v[i].exponent - exponent);
        }
        if (i == 0) {
            here.weight.re *= 0.5;
            here.weight.im *= 0.5;
            around = here.first.re;
        }
        here.first.re -= around; /* the saddle's value, where the mass is */
        z += here.weight.im;
        first += c_mul(here.weight, here.first).im;
        size = fabs(here.weight.re) + fabs(here.weight.im);
        if (!(size <= top)) top = size;
        scratch[i] = here;
    }
    double shift = first / z;
    for (int i = 0; i < pl->n; i += stride) {
        cplx off = {scratch[i].first.re - shift, scratch[i].first.im}, square = c_mul(off, off);
        second += c_mul(scratch[i].weight, (cplx){square.re + scratch[i].second.re, square.im + scratch[i].second.im}).im;
    }
    double log_z = log(z * pl->reach / pl->n * stride / PI) + exponent * 0.693147180559945309417;
    return (answer){around + shift, second / z, log_z, size / top, z / top};
}

typedef struct { double mean, relative; } miss; /* of the mean; of the variance and Z, relative */

static void widen(miss *worst, answer rough, answer fine) {
    double mean = fabs(rough.mean - fine.mean), log_z = fabs(rough.log_z - fine.log_z);
    double variance = rough.variance == fine.variance ? 0 : fabs(rough.variance / fine.variance - 1);
    if (!(mean <= worst->mean)) worst->mean = mean == mean ? mean : HUGE_VAL;
    if (!(variance <= worst->relative)) worst->relative = variance == variance ? variance : HUGE_VAL;
    if (!(log_z <= worst->relative)) worst->relative = log_z == log_z ? log_z : HUGE_VAL;
}

typedef struct { double *mean, *variance, *log_z; } results;
typedef struct { miss path, inner; double tail, left; } quality; /* the misses of rules with half the nodes */

/* Every mass of the group from the gathered nodes. */
static int read_off(workspace *w, const problem *pr, const plan *pl, results out, quality *q) {
    value *scratch = malloc((size_t)pl->n * (sizeof(value) + sizeof(cplx)));
    if (!scratch) return NO_MEMORY;
    cplx *power = (cplx *)(scratch + pl->n);
    double log_sigma = log(pl->sigma);
    *q = (quality){{0, 0}, {0, 0}, 0, 1};
    for (int k = pr->first; k < pr->last; k++) {
        double mass = pr->mass[k];
        block b = {0, 0, 0}, *unseen = NULL;
        if (mass > 0) {
            double within = (pr->alpha + 1) / (mass + 1) * trigamma(pr->alpha + 1) - trigamma(mass + 1);
            b = make_block(mass, digamma(pr->alpha + 1), within > 0 ? within : 0, pl->slope);
            unseen = &b;
        }
        for (int i = 0; i < pl->n; i++)
            power[i] = mass > 0 ? c_exp(-mass * w->at[i].rise, -mass * w->at[i].t) : (cplx){1, 0};
        answer fine = along(pl, w->at, w->full, power, unseen, 1, scratch);
        widen(&q->path, along(pl, w->at, w->full, power, unseen, 2, scratch), fine);
        widen(&q->inner, along(pl, w->at, w->half, power, unseen, 1, scratch), fine);
        if (fine.tail > q->tail) q->tail = fine.tail;
        if (!(fine.left >= q->left)) q->left = fine.left == fine.left ? fine.left : 0;
        out.mean[k] = fine.mean + pl->constant;
        out.variance[k] = fine.variance;
        out.log_z[k] = fine.log_z + pl->log_scale - mass * log_sigma;
    }
    free(scratch);
    return DONE;
}

/* What is left of a miss once the nodes are doubled, over what is allowed. An exponentially convergent rule squares
 * its error then; the powers here are what held on thousands of random problems. */
static double left_over(miss m, double power, double tolerance) {
    double mean = 2 * pow(m.mean, power) / tolerance, relative = 2 * pow(m.relative, power) / (100 * tolerance);
    return mean > relative ? mean : relative;
}

/* Twice the nodes on the same path: those there are become the even ones. */
static int refine_path(workspace *w, const problem *pr, plan *pl) {
    if (reserve_path(w, 2 * pl->n)) return NO_MEMORY;
    for (int i = pl->n - 1; i > 0; i--) {
        w->at[2 * i] = w->at[i];
        w->full[2 * i] = w->full[i];
        w->half[2 * i] = w->half[i];
    }
    pl->n *= 2;
    return gather(w, pr, pl, 1, 2);
}

static plan first_plan(const problem *pr, double tolerance) {
    double least = saddle(pr->f, pr->m, pr->mass[pr->first], pr->room) * pr->room;
    double middle = 0.5 * (pr->mass[pr->first] + pr->mass[pr->last - 1]);
    plan pl;
    memset(&pl, 0, sizeof pl);
    pl.sigma = saddle(pr->f, pr->m, middle, pr->room);
    if (pl.sigma * pr->room < LEAST_RADIUS) pl.sigma = LEAST_RADIUS / pr->room;
    pl.reach = least > 12 ? sqrt(2 * DECAY / least) : PI;
    if (pl.reach > PI) pl.reach = PI;
    pl.step = tolerance >= COARSE_FROM ? COARSE_STEP : tolerance >= QUICK_FROM ? QUICK_STEP : FIRST_STEP;
    pl.n = tolerance >= COARSE_FROM ? COARSE_PATH : FIRST_PATH;
    reference(pr, &pl);
    return pl;
}

/* Masses first..last of a problem, which share a path: nodes are added until half of them give the same answer. Every
 * turn of the loop lengthens the path, doubles its nodes or halves the inner step, and each of these ends. */
static int one_group(workspace *w, const problem *pr, double tolerance, results out, double *error) {
    plan pl = first_plan(pr, tolerance);
    int status = reserve_path(w, pl.n) ? NO_MEMORY : gather(w, pr, &pl, 0, 1);
    while (!status) {
        quality q;
        if ((status = read_off(w, pr, &pl, out, &q))) break;
        double on_path = left_over(q.path, PATH_POWER, tolerance), within = left_over(q.inner, INNER_POWER, tolerance);
        if (pl.reach < PI && q.tail > 1e-13) { /* the path was cut off too early */
            pl.reach = 1.5 * pl.reach < PI ? 1.5 * pl.reach : PI;
            status = gather(w, pr, &pl, 0, 1);
            continue;
        }
        if (!(q.left >= LEAST_LEFT) && pl.n > FIRST_PATH) { /* a density with no mass where it must be */
            *error = 1;
            return DONE;
        }
        int more_path = !(on_path <= 1) && pl.n < MOST_PATH, more_inner = !(within <= 1) && pl.step > LEAST_STEP;
        if (!more_path && !more_inner) {
            double worst = q.left >= LEAST_LEFT ? tolerance * (on_path > within ? on_path : within) : 1;
            if (!(worst <= *error)) *error = worst;
            return DONE;
        }
        if (more_inner) {
            pl.step /= 2;
            pl.n *= more_path ? 2 : 1;
            status = reserve_path(w, pl.n) ? NO_MEMORY : gather(w, pr, &pl, 0, 1);
        } else {
            status = refine_path(w, pr, &pl);
        }
    }
    return status;
}

#endif
