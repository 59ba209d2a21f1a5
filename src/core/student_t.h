#pragma once

namespace cb {

// Returns the two-sided p-value of Student's t with `df` degrees of freedom: the incomplete beta
// function I_x(df/2, 1/2) at x = df / (df + t²) (Abramowitz & Stegun 26.7.1, 26.5.8).
double student_t_p(double t, double df);

// Returns the t with that two-sided p: the value that |t| must exceed. p is in (0, 1].
double student_t_quantile(double p, double df);

}  // namespace cb
