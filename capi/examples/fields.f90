! The field of particles and a kernel from Fortran.
program fields
  use, intrinsic :: iso_c_binding
  use pairforge
  implicit none
  integer, parameter :: n = 2000
  real(c_double), target :: x(3, n), q(n), potential(n), gradient(3, n), right(n), force(3, n), phi(4)
  real(c_double), target :: moments(3, n), phis(n, 2)
  type(pairforge_sources) :: sets(2)
  character(kind=c_char, len=6), target :: names(7)
  type(c_ptr) :: options, plan, kernel, sums
  type(pairforge_column) :: i(3), j(4)
  real(c_double) :: wanted
  integer :: k, l

  do k = 1, n
     x(:, k) = [modulo(0.7548776662466927d0 * k, 1d0), modulo(0.5698402909980532d0 * k, 1d0), modulo(0.3819660113d0 * k, 1d0)]
     q(k) = 1 - 2 * modulo(k, 2)
  end do
  call pairforge_check(pairforge_options_new(options))
  call pairforge_check(pairforge_options_set_number(options, 'tolerance', 1d-5))
  call pairforge_check(pairforge_plan_new(pairforge_points_of(x), plan, options=options))
  call pairforge_options_free(options)
  call pairforge_check(pairforge_plan_run(plan, q, pairforge_field_of(potential, gradient)))
  call pairforge_check(pairforge_direct(pairforge_points_of(x), q, 0d0, pairforge_field_of(right, force)))
  print '(a, es8.1)', 'gradient error', sqrt(sum((gradient - force)**2) / sum(force**2))
  if (.not. sqrt(sum((gradient - force)**2) / sum(force**2)) < 1d-5) stop 2

  ! Dipole moments, and charges with them, as sets of one run.
  do k = 1, n
     moments(:, k) = [modulo(3 * k, 7) - 3, modulo(5 * k, 11) - 5, modulo(k, 5) - 2]
  end do
  sets = [pairforge_sources_of(dipoles=moments), pairforge_sources_of(q, moments)]
  call pairforge_check(pairforge_plan_run_sets(plan, sets, [pairforge_field_of(phis(:, 1)), pairforge_field_of(phis(:, 2))]))
  do k = 1, 2
     call pairforge_check(pairforge_direct_set(pairforge_points_of(x), sets(k), 0d0, pairforge_field_of(right)))
     if (.not. sqrt(sum((phis(:, k) - right)**2) / sum(right**2)) < 1d-3) stop 7
  end do
  call pairforge_plan_free(plan)

  ! A kernel on the emulator of its pipeline.
  names = [character(len=6) :: 'xi[0]', 'xi[1]', 'xi[2]', 'xj[0]', 'xj[1]', 'xj[2]', 'mj']
  do k = 1, 7
     names(k)(len_trim(names(k)) + 1:) = c_null_char
  end do
  x = x / 2
  do k = 1, 3
     i(k) = pairforge_column_of(names(k), x(k, 1), 3, 4)
     j(k) = pairforge_column_of(names(k + 3), x(k, 1), 3, n)
  end do
  j(4) = pairforge_column_of(names(7), q(1), 1, n)
  call pairforge_check(pairforge_kernel_shipped('gravity', kernel))
  call pairforge_check(pairforge_kernel_set_param(kernel, 'eps2', 1d-3))
  call pairforge_check(pairforge_kernel_run(kernel, 'emulator', i, j, sums))
  call pairforge_check(pairforge_sums_column(sums, 'phi', phi))
  do k = 1, 4
     wanted = 0
     do l = 1, n
        if (l /= k) wanted = wanted - q(l) / sqrt(sum((x(:, l) - x(:, k))**2) + 1d-3)
     end do
     if (abs(phi(k) - wanted) > 1d-4 * n / 0.5) stop 3
     if (pairforge_sums_flags(sums, int(k - 1, c_size_t)) /= 0) stop 4
  end do
  call pairforge_sums_free(sums)
  call pairforge_kernel_free(kernel)

  if (pairforge_kernel_shipped('no_such', kernel) /= pairforge_usage) stop 5
  print '(a)', pairforge_error()
  if (index(pairforge_error(), 'no_such') == 0) stop 6
end program fields
