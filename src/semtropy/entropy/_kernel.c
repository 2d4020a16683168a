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
#define LEAST_RADIUS 2.5  /* of the path, in units of 1 / room */
#define SERIES_BEYOND 400.0
#define FIRST_PATH 14
#define FIRST_STEP 0.26
#define MOST_PATH 896
#define LEAST_STEP 0.03
#define SHARED_LOSS 3.0
#define LANES 8 /* nodes come in whole vectors */

typedef struct { double re, im; } cplx;

static cplx c_mul(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static cplx c_div(cplx a, cplx b) {
    double d = b.re * b.re + b.im * b.im;
    return (cplx){(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
}
static cplx c_log(cplx a) { return (cplx){0.5 * log(a.re * a.re + a.im * a.im), atan2(a.im, a.re)}; }

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

/* The sine is written as a cosine because a compiler that pairs the two into one call cannot vectorise it.
 *
 * Sums of the integrand weighted by 1, w and w^2, w = phi(x) - phi(x0) - slope (x - x0), at one s. */
VECTORISED static sums add_near(const double *restrict size, const double *restrict power, int n, factor f, double typical_y,
                                double slope, cplx s, double turn, double scale) {
    double a_re = 0, a_im = 0, b_re = 0, b_im = 0, c_re = 0, c_im = 0;
    double x0 = f.floor + typical_y, k = log(x0) + slope, invert = 1 / x0;
    double cosine = cos(turn), sine = -sin(turn), constant = -f.q * turn;
#pragma omp simd reduction(+ : a_re, a_im, b_re, b_im, c_re, c_im)
    for (int i = 0; i < n / LANES * LANES; i++) {
        double y_re = size[i] * cosine, y_im = size[i] * sine, x_re = f.floor + y_re;
        double a = fabs(x_re), b = fabs(y_im), large = a > b ? a : b, ratio = (a > b ? b : a) / large; /* no underflow */
        double l_re = log(large * invert * sqrt(1 + ratio * ratio)), l_im = atan2(y_im, x_re);
        double grow = exp(f.p * l_re + power[i] - (s.re * y_re - s.im * y_im) - scale);
        double phase = f.p * l_im + constant - (s.re * y_im + s.im * y_re);
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
VECTORISED static sums add_far(const double *restrict size, const double *restrict power, int n, factor f, double typical_y,
                               double slope, cplx s, double turn, double scale) {
    double a_re = 0, a_im = 0, b_re = 0, b_im = 0, c_re = 0, c_im = 0;
    double x0 = f.floor + typical_y, k = log(x0) + slope + 1, invert = 1 / x0;
    double cosine = cos(turn), sine = -sin(turn), constant = -f.q * turn;
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
        double grow = exp(f.p * log_re + power[i] - (s.re * y_re - s.im * y_im) - scale);
        double phase = f.p * log_im + constant - (s.re * y_im + s.im * y_re);
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

typedef struct { cplx s, ds, log_s, exponent, first, second; } node; /* exponent: log of the integrand so far */

/* A block of gamma mass with its own entropy: closed form (unseen meanings; a meaning without a floor). */
static void add_block(node *n, double mass, double constant, double mean, double variance) {
    cplx inverse = c_div((cplx){1, 0}, n->s), d = {constant + n->log_s.re, n->log_s.im};
    cplx square = c_mul(d, d), first = c_mul(inverse, d), over = c_mul(inverse, inverse);
    (void)mean;
    double steady = (mass + 1) * (trigamma(mass + 2) + variance) + 1 / (mass + 1);
    cplx second = c_mul(over, (cplx){steady + square.re - 2 * d.re, square.im - 2 * d.im});
    n->exponent.re -= mass * n->log_s.re;
    n->exponent.im -= mass * n->log_s.im;
    n->first.re += mass * first.re;
    n->first.im += mass * first.im;
    n->second.re += mass * second.re;
    n->second.im += mass * second.im;
}

static void add_sums(node *n, sums t, double shift) {
    cplx a = {t.a_re, t.a_im}, b = c_div((cplx){t.b_re, t.b_im}, a), c = c_div((cplx){t.c_re, t.c_im}, a), l = c_log(a);
    cplx square = c_mul(b, b);
    n->exponent.re += l.re + shift;
    n->exponent.im += l.im;
    n->first.re += b.re;
    n->first.im += b.im;
    n->second.re += c.re - square.re;
    n->second.im += c.im - square.im;
}

typedef struct { double mean, variance, log_z, tail; } answer; /* tail: the last node over the largest, as a logarithm */

/* Integrate along the nodes 0, stride, 2 stride, ...: the trapezium rule on the upper half. */
static answer along(const node *nodes, int n, int stride, double step) {
    double top = -1e308, z = 0, first = 0, second = 0;
    for (int i = 0; i < n; i += stride)
        if (nodes[i].exponent.re > top) top = nodes[i].exponent.re;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i += stride) {
            double size = exp(nodes[i].exponent.re - top) * (i ? 1 : 0.5), angle = nodes[i].exponent.im;
            cplx weight = c_mul((cplx){size * cos(angle), size * sin(angle)}, nodes[i].ds); /* times 1 / i pi later */
            if (pass == 0) {
                z += weight.im;
                first += c_mul(weight, nodes[i].first).im;
                continue;
            }
            cplx off = {nodes[i].first.re - first / z, nodes[i].first.im}, square = c_mul(off, off);
            second += c_mul(weight, (cplx){square.re + nodes[i].second.re, square.im + nodes[i].second.im}).im;
        }
    return (answer){first / z, second / z, log(z * step * stride / PI) + top,
                    nodes[n - 1].exponent.re - top};
}

typedef struct { const factor *f; int m; double room, alpha; const double *unseen; int first, last; } problem;
typedef struct { node *full, *half, *scratch; int room; inner_nodes inner; } workspace;

static int reserve_path(workspace *w, int n) {
    if (n <= w->room) return 0;
    free(w->full);
    w->full = malloc(3 * (size_t)n * sizeof(node));
    if (!w->full) return -1;
    w->half = w->full + n;
    w->scratch = w->half + n;
    w->room = n;
    return 0;
}

/* The seen factors at every node of a path of radius `sigma`, with all inner nodes (full) and every other (half). */
static int seen_factors(workspace *w, const problem *pr, double sigma, double reach, int n, double step, double *constant,
                        double *slope_out) {
    double weight = 0, slope = 0, middle = 0;
    for (int j = 0; j < pr->m; j++) {
        double y = typical(pr->f[j], sigma);
        weight += y;
        slope -= y * (log(pr->f[j].floor + y) + 1);
        if (pr->f[j].floor > 0) middle += y;
    }
    slope /= weight;
    *slope_out = slope;
    *constant = slope * (pr->room - middle);
    for (int i = 0; i < n; i++) {
        double t = i * reach / n;
        cplx s = {i ? sigma * t / tan(t) : sigma, sigma * t};
        cplx ds = {i ? sigma * (1 / tan(t) - t / (sin(t) * sin(t))) : 0, sigma};
        cplx zero = {0, 0};
        /* ds / (i pi) = (ds.im - i ds.re) / pi: the caller takes the imaginary part of exponent * ds instead */
        w->full[i] = (node){s, ds, c_log(s), {s.re * pr->room, s.im * pr->room}, zero, zero};
        w->half[i] = w->full[i];
    }
    for (int j = 0; j < pr->m; j++) {
        factor f = pr->f[j];
        if (f.floor == 0) {
            double a = f.p + f.q, tilt = -slope - digamma(a + 1);
            for (int i = 0; i < n; i++) {
                add_block(&w->full[i], a, tilt, 0, 0);
                add_block(&w->half[i], a, tilt, 0, 0);
                w->full[i].exponent.re += lgamma(a);
                w->half[i].exponent.re += lgamma(a);
            }
            continue;
        }
        if (place_nodes(&w->inner, f, sigma, step)) return -1;
        double y = typical(f, sigma), x0 = f.floor + y, own = sigma - y / spread(f, sigma, y);
        double scale = f.p * (log(f.floor) - log(x0)) + log_integrand(f, sigma, log(y)), shift = scale + f.p * log(x0);
        int half = w->inner.half, far = sigma * x0 > SERIES_BEYOND && f.floor > y;
        (void)own;
        *constant -= x0 * log(x0);
        for (int i = 0; i < n; i++) {
            node *full = &w->full[i];
            double turn = TURN * full->log_s.im;
            const double *size = w->inner.size, *power = w->inner.power;
            sums even = far ? add_far(size, power, half, f, y, slope, full->s, turn, scale)
                            : add_near(size, power, half, f, y, slope, full->s, turn, scale);
            size += half;
            power += half;
            sums odd = far ? add_far(size, power, half, f, y, slope, full->s, turn, scale)
                           : add_near(size, power, half, f, y, slope, full->s, turn, scale);
            sums all = {even.a_re + odd.a_re, even.a_im + odd.a_im, even.b_re + odd.b_re,
                        even.b_im + odd.b_im, even.c_re + odd.c_re, even.c_im + odd.c_im};
            add_sums(full, all, shift);
            add_sums(&w->half[i], even, shift + 0.69314718055994530942);
        }
    }
    return 0;
}

typedef struct { double mean, variance; } miss;

static void widen(miss *worst, answer rough, answer fine) {
    double mean = fabs(rough.mean - fine.mean), variance = fabs(rough.variance / fine.variance - 1);
    if (!(mean <= worst->mean)) worst->mean = mean;
    if (!(variance <= worst->variance)) worst->variance = variance;
}

/* One group of support sizes on one shared path. Returns the misses of coarser rules. */
static int one_pass(workspace *w, const problem *pr, double sigma, double reach, int n, double step, double *mean,
                    double *variance, double *log_z, miss *path, miss *inner, double *tail) {
    double constant, slope;
    if (reserve_path(w, n) || seen_factors(w, pr, sigma, reach, n, step, &constant, &slope)) return -1;
    for (int k = pr->first; k < pr->last; k++) {
        double mass = pr->unseen[k] * pr->alpha;
        const node *full = w->full, *half = w->half;
        answer fine, rough;
        if (mass > 0) {
            double within = (pr->alpha + 1) / (mass + 1) * trigamma(pr->alpha + 1) - trigamma(mass + 1);
            double tilt = -digamma(pr->alpha + 1) - slope; /* mean entropy of the block less digamma(mass + 1) */
            if (within < 0) within = 0;
            for (int i = 0; i < n; i++) w->scratch[i] = w->full[i], add_block(&w->scratch[i], mass, tilt, 0, within);
            fine = along(w->scratch, n, 1, reach / n);
            rough = along(w->scratch, n, 2, reach / n);
            widen(path, rough, fine);
            for (int i = 0; i < n; i++) w->scratch[i] = w->half[i], add_block(&w->scratch[i], mass, tilt, 0, within);
            half = w->scratch;
        } else {
            fine = along(full, n, 1, reach / n);
            rough = along(full, n, 2, reach / n);
            widen(path, rough, fine);
        }
        widen(inner, along(half, n, 1, reach / n), fine);
        if (fine.tail > *tail) *tail = fine.tail;
        mean[k] = fine.mean + constant;
        variance[k] = fine.variance;
        log_z[k] = fine.log_z;
    }
    return 0;
}

/* What is left of a miss once the nodes are doubled, over what is allowed. An exponentially convergent rule squares
 * its error then; the power 1.5 is what held on thousands of random problems. */
static double left_over(miss m, double tolerance, double relative) {
    double a = 3 * m.mean * sqrt(m.mean) / tolerance, b = 3 * m.variance * sqrt(m.variance) / relative;
    return a > b ? a : b;
}

static int one_group(workspace *w, const problem *pr, double tolerance, double *mean, double *variance, double *log_z,
                     double *error) {
    double middle = 0.5 * (pr->unseen[pr->first] + pr->unseen[pr->last - 1]) * pr->alpha;
    double least = saddle(pr->f, pr->m, pr->unseen[pr->first] * pr->alpha, pr->room) * pr->room;
    double sigma = saddle(pr->f, pr->m, middle, pr->room);
    if (sigma * pr->room < LEAST_RADIUS) sigma = LEAST_RADIUS / pr->room;
    double reach = least > 12 ? sqrt(2 * DECAY / least) : PI;
    if (reach > PI) reach = PI;
    int n = FIRST_PATH;
    double step = FIRST_STEP;
    for (;;) {
        miss path = {0, 0}, inner = {0, 0};
        double tail = -1e308;
        if (one_pass(w, pr, sigma, reach, n, step, mean, variance, log_z, &path, &inner, &tail)) return -1;
        if (reach < PI && tail > -0.75 * DECAY) { /* the path was cut off too early */
            reach = 2 * reach < PI ? 2 * reach : PI;
            n += n / 2;
            continue;
        }
        double on_path = left_over(path, tolerance, 100 * tolerance), within = left_over(inner, tolerance, 100 * tolerance);
        double worst = on_path > within ? on_path : within;
        int more_path = !(on_path <= 1) && n < MOST_PATH, more_inner = !(within <= 1) && step > LEAST_STEP;
        if (!more_path && !more_inner) {
            worst *= tolerance;
            if (!(worst <= *error)) *error = worst;
            return 0;
        }
        if (more_path) n *= 2;
        if (more_inner) step /= 2;
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
static void dirichlet(const problem *pr, int k, double *mean, double *variance, double *log_z) {
    double u = pr->unseen[k], a0 = pr->alpha, total = u * a0, entropy = 0, log_gammas = 0;
    for (int j = 0; j < pr->m; j++) total += pr->f[j].p + pr->f[j].q;
    for (int j = 0; j < pr->m; j++) {
        double a = pr->f[j].p + pr->f[j].q;
        entropy -= a / total * digamma(a + 1);
        log_gammas += lgamma(a);
    }
    entropy += digamma(total + 1) - (u > 0 ? u * a0 / total * digamma(a0 + 1) : 0);
    double shift = entropy - digamma(total + 2), sum = total * total / ((total + 1) * (total + 1));
    for (int j = 0; j < pr->m + (u > 0); j++) {
        int seen = j < pr->m;
        double a = seen ? pr->f[j].p + pr->f[j].q : a0, d = digamma(a + 1) + shift;
        sum += (seen ? 1 : u) * a * (d * d + 2 * d + 1 / (a + 1) + (a + 1) * trigamma(a + 2));
    }
    mean[k] = entropy;
    variance[k] = sum / (total * (total + 1)) - trigamma(total + 2);
    if (variance[k] < 0) variance[k] = 0;
    log_z[k] = log_gammas - lgamma(total);
}

/* How much a path made for mass `other` loses on a problem of mass `own`, as the logarithm of a ratio. */
static double loss(double own, double other) { return other - own - own * log(other / own); }

static int solve(workspace *w, problem *pr, int first, int last, double tolerance, double *mean, double *variance,
                 double *log_z, double *error) {
    int floors = 0;
    double base = 0;
    for (int j = 0; j < pr->m; j++) {
        floors += pr->f[j].floor > 0;
        base += pr->f[j].floor > 0 ? pr->f[j].q : pr->f[j].p + pr->f[j].q;
    }
    *error = 0;
    int k = first;
    while (k < last) {
        if (pr->m == 1 && pr->unseen[k] == 0) { /* one meaning, all the mass */
            mean[k] = variance[k] = 0;
            log_z[k] = (pr->f[0].q - 1) * log(pr->room) * (floors > 0);
            k++;
        } else if (!floors) {
            dirichlet(pr, k, mean, variance, log_z);
            k++;
        } else {
            int end = k + 1;
            double own = base + pr->unseen[k] * pr->alpha;
            while (end < last && pr->unseen[end] > 0 && loss(own, base + pr->unseen[end] * pr->alpha) < SHARED_LOSS) end++;
            pr->first = k;
            pr->last = end;
            if (one_group(w, pr, tolerance, mean, variance, log_z, error)) return -1;
            k = end;
        }
    }
    return 0;
}

/* contour(p, q, floors, offsets, alpha, unseen, unseen_offsets, tolerance, mean, variance, log_z, error)
 *
 * Problem i has the factors offsets[i]..offsets[i+1] and the numbers of unseen meanings unseen_offsets[i]..[i+1],
 * rising. float64 and int64 buffers; the last four are written. */
static PyObject *contour(PyObject *self, PyObject *args) {
    Py_buffer b[11];
    double tolerance;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*dw*w*w*w*", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &tolerance,
                          &b[7], &b[8], &b[9], &b[10]))
        return NULL;
    const double *p = b[0].buf, *q = b[1].buf, *floors = b[2].buf, *alpha = b[4].buf, *unseen = b[5].buf;
    const long long *offsets = b[3].buf, *unseen_offsets = b[6].buf;
    double *mean = b[7].buf, *variance = b[8].buf, *log_z = b[9].buf, *error = b[10].buf;
    int problems = (int)(b[4].len / (Py_ssize_t)sizeof(double)), failed = 0, most = 0;
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
        problem pr = {f, m, room_above(floors + offsets[i], m), alpha[i], unseen, 0, 0};
        failed = solve(&w, &pr, (int)unseen_offsets[i], (int)unseen_offsets[i + 1], tolerance, mean, variance, log_z,
                       &error[i]);
    }
    Py_END_ALLOW_THREADS
    free(f);
    free(w.full);
    free(w.inner.size);
    for (int i = 0; i < 11; i++) PyBuffer_Release(&b[i]);
    if (failed) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"contour", contour, METH_VARARGS, "Moments and evidence by contour integration."},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_kernel", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit__kernel(void) { return PyModule_Create(&module); }
