! A few bodies by Hermite steps of one size over the calls of GRAPE-6. The calls are those of phiGRAPE.
program hermite
  implicit none
  integer, parameter :: n = 64, steps = 64
  double precision, parameter :: dt = 1.d0 / 512, eps2 = 1.d-2
  double precision :: x(3, n), v(3, n), a(3, n), jerk(3, n), p(n), m(n), h2(n)
  double precision :: xp(3, n), vp(3, n), an(3, n), jn(3, n), zero(3), a2(3), j6(3)
  double precision :: time, before, change, s, c
  integer :: index(n), nearest(n), i, step, pipes, first, count, status
  integer, external :: g6_npipes, g6calc_lasthalf2

  zero = 0
  do i = 1, n
     ! A rough shell, in slow rotation.
     c = 1 - 2 * (i - 0.5d0) / n
     s = 2.399963229728653d0 * i
     x(:, i) = (1 + 0.3d0 * sin(7.d0 * i)) * [sqrt(1 - c * c) * cos(s), sqrt(1 - c * c) * sin(s), c]
     v(:, i) = 0.4d0 * [-x(2, i), x(1, i), 0.d0]
     m(i) = 1.d0 / n
     index(i) = i
  end do
  h2 = eps2
  a = 1
  jerk = 10
  p = -1
  call g6_open(0)
  pipes = g6_npipes()
  call g6_set_tunit(48)
  call g6_set_xunit(48)
  time = 0
  do i = 1, n
     call g6_set_j_particle(0, i - 1, index(i), time, dt, m(i), zero, zero, zero, v(:, i), x(:, i))
  end do
  call forces(x, v)
  a = an
  jerk = jn
  before = energy()
  do step = 1, steps
     do i = 1, n
        a2 = a(:, i) / 2
        j6 = jerk(:, i) / 6
        call g6_set_j_particle(0, i - 1, index(i), time, dt, m(i), zero, j6, a2, v(:, i), x(:, i))
     end do
     time = time + dt
     xp = x + dt * (v + dt * (a / 2 + dt * jerk / 6))
     vp = v + dt * (a + dt * jerk / 2)
     call forces(xp, vp)
     ! The corrector of fourth order.
     vp = v + dt / 2 * (a + an) + dt**2 / 12 * (jerk - jn)
     x = x + dt / 2 * (v + vp) + dt**2 / 12 * (a - an)
     v = vp
     a = an
     jerk = jn
  end do
  do i = 1, n
     a2 = a(:, i) / 2
     j6 = jerk(:, i) / 6
     call g6_set_j_particle(0, i - 1, index(i), time, dt, m(i), zero, j6, a2, v(:, i), x(:, i))
  end do
  call forces(x, v)
  change = abs((energy() - before) / before)
  print '(a, es8.1)', 'energy change', change
  call check
  call g6_close(0)
  if (change > 1.d-6) stop 1

contains

  ! Fields of all bodies at places, in groups as the pipelines take them.
  subroutine forces(xi, vi)
    double precision, intent(in) :: xi(3, n), vi(3, n)
    call g6_set_ti(0, time)
    an = a
    jn = jerk
    do first = 1, n, pipes
       count = min(pipes, n - first + 1)
       call g6calc_firsthalf(0, n, count, index(first), xi(1, first), vi(1, first), an(1, first), jn(1, first), p(first), eps2, &
            h2(first))
       status = g6calc_lasthalf2(0, n, count, index(first), xi(1, first), vi(1, first), eps2, h2(first), an(1, first), &
            jn(1, first), p(first), nearest(first))
       if (status /= 0) stop 2
    end do
  end subroutine forces

  double precision function energy()
    energy = 0.5d0 * sum(m * (sum(v**2, 1) + p))
  end function energy

  ! The last fields against sums in this program.
  subroutine check
    double precision :: d(3), w(3), r2, rv, sums(7), found(7), least, scale, worst
    integer :: j, k, who
    worst = 0
    do k = 1, n
       sums = 0
       least = huge(least)
       who = -1
       do j = 1, n
          if (j == k) cycle
          d = x(:, j) - x(:, k)
          w = v(:, j) - v(:, k)
          if (sum(d**2) < least) then
             least = sum(d**2)
             who = j
          end if
          r2 = sum(d**2) + eps2
          rv = sum(d * w)
          sums(1) = sums(1) - m(j) / sqrt(r2)
          sums(2:4) = sums(2:4) + m(j) * d / r2**1.5d0
          sums(5:7) = sums(5:7) + m(j) * (w - 3 * rv / r2 * d) / r2**1.5d0
       end do
       found = [p(k), an(:, k), jn(:, k)]
       scale = maxval(abs(sums))
       worst = max(worst, maxval(abs(found - sums)) / scale)
       if (nearest(k) /= who) stop 3
    end do
    print '(a, es8.1)', 'field error', worst
    if (worst > 1.d-6) stop 4
  end subroutine check
end program hermite
