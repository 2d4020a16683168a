/* Complex arithmetic and special functions in plain C11.
 *
 * Complex numbers are written out because MSVC has no <complex.h> of the standard kind, and because compilers that
 * follow Annex G (infinities in products) do not vectorise complex products. */

#ifndef SEMTROPY_SPECIAL_H
#define SEMTROPY_SPECIAL_H

#include "portable.h"

#define PI 3.14159265358979323846

typedef struct { double re, im; } cplx;

static cplx c_mul(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

static cplx c_div(cplx a, cplx b) {
    double d = b.re * b.re + b.im * b.im;
    return (cplx){(a.re * b.re + a.im * b.im) / d, (a.im * b.re - a.re * b.im) / d};
}

static cplx c_exp(double re, double im) {
    double size = exp(re);
    return (cplx){size * cos(im), size * sin(im)};
}

/* The three below are for positive x: shifted to x >= 10, then an asymptotic series. */

static double digamma(double x) {
    double below = 0;
    for (int i = 0; i < 10 && x < 10; i++) below -= 1 / x, x += 1;
    double y = 1 / (x * x);
    return below + log(x) - 0.5 / x -
           y * (1. / 12 - y * (1. / 120 - y * (1. / 252 - y * (1. / 240 - y * (1. / 132 - y * (691. / 32760 - y / 12))))));
}

static double trigamma(double x) {
    double below = 0;
    for (int i = 0; i < 10 && x < 10; i++) below += 1 / (x * x), x += 1;
    double y = 1 / (x * x);
    return below + 1 / x + 0.5 * y +
           y / x * (1. / 6 - y * (1. / 30 - y * (1. / 42 - y * (1. / 30 - y * (5. / 66 - y * (691. / 2730 - y * 7 / 6))))));
}

/* Not lgamma of the C library: that one writes the sign to a global variable, a race between threads. */
static double log_gamma(double x) {
    double below = 1;
    for (int i = 0; i < 10 && x < 10; i++) below *= x, x += 1;
    double y = 1 / (x * x);
    double series = 1. / 12 - y * (1. / 360 - y * (1. / 1260 - y * (1. / 1680 - y * (1. / 1188 - y * (691. / 360360 - y / 156)))));
    return (x - 0.5) * log(x) - x + 0.918938533204672741780 + series / x - log(below);
}

/* t cot t - 1 and log(t / sin t) for 0 <= t < pi, with all digits near 0. */

static double fall(double t) {
    double y = t * t;
    if (t >= 0.3) return t * cos(t) / sin(t) - 1;
    return -y * (1. / 3 + y * (1. / 45 + y * (2. / 945 + y * (1. / 4725 + y * (2. / 93555 + y * (1382. / 638512875 + y * 4 / 18243225))))));
}

static double rise(double t) {
    double y = t * t;
    if (t >= 0.3) return log(t / sin(t));
    return y * (1. / 6 + y * (1. / 180 + y * (1. / 2835 + y * (1. / 37800 + y * (1. / 467775 + y * (691. / 3831077250 + y * 2 / 127702575))))));
}

#endif
