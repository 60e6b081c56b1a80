! The calls of GRAPE-5 by their Fortran names.
program calls5
  implicit none
  integer, parameter :: n = 150
  double precision :: x(3, n), m(n), a(3, n), p(n), d(3), sums(4), error
  double precision, parameter :: eps = 0.05d0
  integer :: i, j, pipes
  integer, external :: g5_get_number_of_pipelines, g5_get_jmemsize
  do i = 1, n
     x(:, i) = [sin(1.d0 * i), cos(2.1d0 * i), sin(3.3d0 * i * i)]
     m(i) = 1 + 0.5d0 * sin(0.7d0 * i)
  end do
  call g5_open()
  pipes = g5_get_number_of_pipelines()
  if (pipes < 1 .or. g5_get_jmemsize() < n) stop 1
  call g5_set_range(-2.d0, 2.d0, 1.d-3)
  call g5_set_eps_to_all(eps)
  call g5_set_xmj(0, n, x, m)
  call g5_set_n(n)
  do i = 1, n, pipes
     call g5_set_xi(min(pipes, n - i + 1), x(1, i))
     call g5_run()
     call g5_get_force(min(pipes, n - i + 1), a(1, i), p(i))
  end do
  error = 0
  do i = 1, n
     sums = 0
     do j = 1, n
        d = x(:, j) - x(:, i)
        sums(1:3) = sums(1:3) + m(j) * d / (sum(d**2) + eps**2)**1.5d0
        sums(4) = sums(4) + m(j) / sqrt(sum(d**2) + eps**2)
     end do
     error = max(error, maxval(abs([a(:, i), p(i)] - sums)) / maxval(abs(sums)))
  end do
  print '(a, es8.1)', 'error', error
  if (error > 1.d-4) stop 2
  call g5_set_nmc(2, 1)
  call g5_set_xmjmc(2, 0, 1, x, m)
  call g5_calculate_force_on_xmc(2, x(1, 2), a, p, 1)
  d = x(:, 1) - x(:, 2)
  if (abs(p(1) - m(1) / sqrt(sum(d**2) + eps**2)) > 1.d-4 * p(1)) stop 3
  call g5_close()
end program calls5
