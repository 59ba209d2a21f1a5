#pragma once

namespace cb {

// Two-sided p-value of Student's t with `df` degrees of freedom: the incomplete beta function
// I_x(df/2, 1/2) at x = df / (df + t²) (Abramowitz & Stegun 26.7.1, 26.5.8).
double student_t_p(double t, double df);

// The t of that two-sided p: what |t| must exceed. p in (0, 1].
double student_t_quantile(double p, double df);

}  // namespace cb
