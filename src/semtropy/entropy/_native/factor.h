/* One factor (floor + y)^p y^(q - 1) of the density: its saddle point, the nodes of its inner integral, and its sums. */

#ifndef SEMTROPY_FACTOR_H
#define SEMTROPY_FACTOR_H

#include <stdlib.h>

#include "special.h"

#define TURN 0.62          /* the inner ray turns by this share of the angle of s */
#define DECAY 42.0         /* integrands are cut where they fall below exp(-DECAY) of their peak */
#define SERIES_WITHIN 0.1  /* the series for log(x / x0) is used where |x / x0 - 1| stays below this */
#define MOST_INNER 8192    /* inner nodes of one factor; ordinary ones have about a hundred */
#define LANES 8            /* nodes come in whole vectors */

typedef struct { double p, q, floor; } factor;

static double discriminant(factor f, double s) {
    double b = s * f.floor - f.p - f.q;
    return sqrt(b * b + 4 * s * f.q * f.floor);
}

/* The mean of y under the factor times exp(-s y), by Laplace's method: from s y = q + p y / (floor + y). */
static double tilted_mean(factor f, double s) {
    if (f.floor == 0) return (f.p + f.q) / s;
    double b = s * f.floor - f.p - f.q, d = discriminant(f, s);
    return b < 0 ? (d - b) / (2 * s) : 2 * f.q * f.floor / (d + b);
}

static double tilted_variance(factor f, double s, double y) {
    return f.floor == 0 ? (f.p + f.q) / (s * s) : y * (y + f.floor) / discriminant(f, s);
}

/* Where the tilted means add up to the room: the real saddle. Newton on log s, kept inside a bracket. */
static double saddle(const factor *f, int m, double unseen, double room) {
    double total = unseen;
    for (int j = 0; j < m; j++) total += f[j].q > f[j].p + f[j].q ? f[j].q : f[j].p + f[j].q;
    double low = 0, high = 1e308, s = total / room, allowed = 0.01 / sqrt(total);
    allowed = room * (allowed < 1e-6 ? allowed : 1e-6);
    for (int turn = 0; turn < 100; turn++) {
        double mean = unseen / s, slope = unseen / (s * s);
        for (int j = 0; j < m; j++) {
            double y = tilted_mean(f[j], s);
            mean += y;
            slope += tilted_variance(f[j], s, y);
        }
        double excess = mean - room;
        if (!(fabs(excess) >= allowed)) break;
        if (excess > 0) low = s; else high = s;
        double jump = excess / (s * slope), next = s * exp(jump > 5 ? 5 : jump < -5 ? -5 : jump);
        if (!(next > low)) next = 0.5 * (low + s);
        if (!(next < high)) next = 0.5 * (high + s);
        s = next;
    }
    return s;
}

/* Nodes y e^v, even ones first, then the odd ones. Their order puts the largest first and the smallest last. */
typedef struct {
    double *size;   /* y e^v */
    double *excess; /* y (e^v - 1) */
    double *power;  /* q v plus the log of the weight */
    double *grown;  /* log((floor + size) / x0) */
    double *mixed;  /* 4 floor size / (floor + size)^2, from 0 to 1 */
    int half, room;
} inner_nodes;

static int reserve_inner(inner_nodes *n, int count) {
    if (count <= n->room) return 0;
    free(n->size);
    n->room = 0;
    n->size = malloc(5 * (size_t)count * sizeof(double));
    if (!n->size) return -1;
    n->excess = n->size + count;
    n->power = n->excess + count;
    n->grown = n->power + count;
    n->mixed = n->grown + count;
    n->room = count;
    return 0;
}

/* Exponents are cut off below, because the vector forms of exp are slow where the result underflows. Volatile, because
 * compilers would otherwise take exp of both, and then choose. */
static const volatile double LEAST_EXPONENT = -600;

#define EXP_FROM(least, x) exp((x) < least ? least : (x))

/* Of the integrand in v, less its value at the peak v = 0. */
static double log_integrand(factor f, double s, double y, double v) {
    double excess = y * expm1(v);
    return f.p * log1p(excess / (f.floor + y)) + f.q * v - s * excess;
}

VECTORISED static void fill_nodes(inner_nodes *nodes, factor f, double y, double start, double width, double last,
                                  double step) {
    double floor = f.floor, q = f.q, invert = 1 / (f.floor + y), scale = width * step, least = LEAST_EXPONENT;
    for (int part = 0; part < 2; part++) {
        int n = nodes->half / LANES * LANES, from = part * nodes->half;
        double *RESTRICT size = nodes->size + from, *RESTRICT excess = nodes->excess + from;
        double *RESTRICT power = nodes->power + from, *RESTRICT grown = nodes->grown + from;
        double *RESTRICT mixed = nodes->mixed + from, top = last - (part + 0.5) * step;
        SIMD
        for (int i = 0; i < n; i++) {
            double u = top - 2 * i * step, tail = exp(start - u), v = width * (u - tail), here = y * EXP_FROM(least, v), x = floor + here;
            size[i] = here;
            excess[i] = here - y;
            power[i] = q * v + log(scale * (1 + tail));
            grown[i] = log(x * invert);
            mixed[i] = 4 * (floor / x) * (here / x);
        }
    }
}

/* The width of the integrand in v around its peak, and the curvature of its logarithm there. */
static double inner_width(factor f, double s, double y, double *curvature) {
    double x0 = f.floor + y;
    *curvature = s * y - f.p * (f.floor / x0) * (y / x0);
    return *curvature > 6.25 ? 2.5 / sqrt(*curvature) : 1.0;
}

/* The first whole number of widths above the peak at which the integrand is negligible. It falls from the peak on, so that
 * the search may begin anywhere: where the exponential alone would end it. */
static double right_end(factor f, double s, double y, double width) {
    double guess = floor(log1p(DECAY / (s * y)) / width), k = guess > 1 ? (guess < 4000 ? guess : 4000) : 1;
    while (k > 1 && f.p < 0 && !(log_integrand(f, s, y, (k - 1) * width) > -DECAY)) k--;
    while (k < 4000 && log_integrand(f, s, y, k * width) > -DECAY) k++;
    return k;
}

/* v = width (u - exp(start - u)): even steps around the mode, doubly exponential below it. Returns -1 without memory,
 * 1 where the parameters are beyond what doubles resolve. */
static int place_nodes(inner_nodes *nodes, factor f, double s, double y, double step) {
    double at_floor = log(f.floor) - log(y), shape = f.p + f.q, x0 = f.floor + y, curvature;
    double width = inner_width(f, s, y, &curvature), right = right_end(f, s, y, width);
    int floor_matters = -at_floor * shape < DECAY;
    double start = (floor_matters && at_floor < 0 ? at_floor : 0) / width - 1.5;
    double reach = DECAY / ((floor_matters ? f.q : shape) * width);
    double last = right + 0.2, first = start - log(reach > 1 ? reach : 1) - 0.5;
    double count = ceil((last - first) / (2 * step));
    if (!(count >= 1 && count <= MOST_INNER / 2 - LANES)) return 1;
    int half = ((int)count + LANES - 1) / LANES * LANES;
    if (reserve_inner(nodes, 2 * half)) return -1;
    nodes->half = half;
    fill_nodes(nodes, f, y, start, width, last, step);
    if (curvature > 100) { /* a narrow peak: y (e^v - 1) and its logarithm need all their digits */
        for (int i = 0; i < 2 * half; i++) {
            double u = last - ((i < half ? 2 * i : 2 * (i - half) + 1) + 0.5) * step, v = width * (u - exp(start - u));
            nodes->excess[i] = y * expm1(v);
            nodes->grown[i] = log1p(nodes->excess[i] / x0);
        }
    }
    return 0;
}

typedef struct { double a_re, a_im, b_re, b_im, c_re, c_im; } sums; /* weighted by 1, w and w^2 */

static sums add(sums x, sums y) {
    return (sums){x.a_re + y.a_re, x.a_im + y.a_im, x.b_re + y.b_re, x.b_im + y.b_im, x.c_re + y.c_re, x.c_im + y.c_im};
}

/* What the sums of a factor at one s need beside its nodes: `base` is a constant of the exponent, `dip` = y (1 - cosine),
 * `half_square` = sin^2 of half the ray's angle. */
typedef struct { double x0, lean, s_re, s_im, cosine, sine, dip, half_square, base_re, base_im; } ray;

/* Adds the integrand grow e^(i phase), and its products with w and w^2, to the sums of a loop. A macro, because compilers
 * reduce only variables of the loop's own function. The sine is written as a cosine because a compiler that pairs the two
 * into one call cannot vectorise them. */
#define ADD_WEIGHTED(grow, phase, w_re, w_im)                               \
    double f_re = grow * cos(phase), f_im = grow * cos(phase - 0.5 * PI);   \
    double g_re = f_re * w_re - f_im * w_im, g_im = f_re * w_im + f_im * w_re; \
    a_re += f_re;                                                           \
    a_im += f_im;                                                           \
    b_re += g_re;                                                           \
    b_im += g_im;                                                           \
    c_re += g_re * w_re - g_im * w_im;                                      \
    c_im += g_re * w_im + g_im * w_re;

/* Sums of the integrand weighted by 1, w and w^2, w = phi(x) - phi(x0) - slope (x - x0), at one s, over the even nodes
 * (`from` = 0) or the odd ones (`from` = half). |x| comes from
 * |floor + size e^(-i angle)|^2 = (floor + size)^2 (1 - mixed sin^2(angle / 2)), without underflow. */
VECTORISED static sums add_direct(const inner_nodes *nodes, int from, factor f, const ray *r) {
    int n = nodes->half / LANES * LANES;
    const double *RESTRICT size = nodes->size + from, *RESTRICT excess = nodes->excess + from;
    const double *RESTRICT power = nodes->power + from, *RESTRICT grown = nodes->grown + from;
    const double *RESTRICT mixed = nodes->mixed + from;
    double a_re = 0, a_im = 0, b_re = 0, b_im = 0, c_re = 0, c_im = 0, p = f.p, floor = f.floor, k = r->lean - 1;
    double s_re = r->s_re, s_im = r->s_im, cosine = r->cosine, sine = r->sine, dip = r->dip, half_square = r->half_square;
    double base_re = r->base_re, base_im = r->base_im, least = LEAST_EXPONENT;
    SIMD_SUMS
    for (int i = 0; i < n; i++) {
        double y_im = size[i] * sine, x_re = floor + size[i] * cosine, d_re = excess[i] * cosine - dip;
        double l_re = grown[i] + 0.5 * log(1 - mixed[i] * half_square), l_im = atan2(y_im, x_re);
        double grow = EXP_FROM(least, p * l_re + power[i] - (s_re * d_re - s_im * y_im) + base_re);
        double phase = p * l_im - (s_re * y_im + s_im * d_re) + base_im;
        double w_re = -d_re * k - (x_re * l_re - y_im * l_im), w_im = -y_im * k - (x_re * l_im + y_im * l_re);
        ADD_WEIGHTED(grow, phase, w_re, w_im)
    }
    return (sums){a_re, a_im, b_re, b_im, c_re, c_im};
}

/* The same where x stays near x0: log(x / x0) and the curved part of w from their series. */
VECTORISED static sums add_series(const inner_nodes *nodes, int from, factor f, const ray *r) {
    int n = nodes->half / LANES * LANES;
    const double *RESTRICT size = nodes->size + from, *RESTRICT excess = nodes->excess + from;
    const double *RESTRICT power = nodes->power + from;
    double a_re = 0, a_im = 0, b_re = 0, b_im = 0, c_re = 0, c_im = 0, p = f.p, k = r->lean, x0 = r->x0, invert = 1 / x0;
    double s_re = r->s_re, s_im = r->s_im, cosine = r->cosine, sine = r->sine, dip = r->dip;
    double base_re = r->base_re, base_im = r->base_im, least = LEAST_EXPONENT;
    SIMD_SUMS
    for (int i = 0; i < n; i++) {
        double y_im = size[i] * sine, d_re = excess[i] * cosine - dip;
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
        double grow = EXP_FROM(least, p * log_re + power[i] - (s_re * d_re - s_im * y_im) + base_re);
        double phase = p * log_im - (s_re * y_im + s_im * d_re) + base_im;
        double w_re = -d_re * k - x0 * curve_re, w_im = -y_im * k - x0 * curve_im;
        ADD_WEIGHTED(grow, phase, w_re, w_im)
    }
    return (sums){a_re, a_im, b_re, b_im, c_re, c_im};
}

/* |x - x0| is largest at one of the end nodes where the ray has turned furthest. */
static int stays_near(const inner_nodes *nodes, double y, double x0, double turn) {
    double cosine = cos(turn), sine = sin(turn), ends[2] = {nodes->size[0] / x0, nodes->size[2 * nodes->half - 1] / x0};
    int all = 1;
    for (int i = 0; i < 2; i++) {
        double re = ends[i] * cosine - y / x0, im = ends[i] * sine;
        all = all && re * re + im * im < SERIES_WITHIN * SERIES_WITHIN;
    }
    return all;
}

#endif
