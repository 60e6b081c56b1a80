! Pairforge from Fortran: the calls of pairforge.h by iso_c_binding. Compile this file with the program, and link with -lpairforge.
module pairforge
  use, intrinsic :: iso_c_binding
  implicit none
  private

  public :: pairforge_points, pairforge_sources, pairforge_field, pairforge_column, pairforge_points_of, pairforge_sources_of
  public :: pairforge_field_of, pairforge_column_of
  public :: pairforge_error, pairforge_check
  public :: pairforge_options_new, pairforge_options_free, pairforge_options_set_number, pairforge_options_set_text
  public :: pairforge_plan_new, pairforge_plan_update, pairforge_plan_run, pairforge_plan_free, pairforge_direct
  public :: pairforge_plan_run_sets, pairforge_direct_set
  public :: pairforge_kernel_compile, pairforge_kernel_shipped, pairforge_kernel_free, pairforge_kernel_set_param
  public :: pairforge_kernel_run, pairforge_sums_column, pairforge_sums_flags, pairforge_sums_free
  public :: pairforge_session_open, pairforge_session_set_param, pairforge_session_set_sources, pairforge_session_run
  public :: pairforge_session_close

  integer(c_int), parameter, public :: pairforge_ok = 0, pairforge_input = 1, pairforge_usage = 2, pairforge_tool = 3, &
       pairforge_internal = 4

  ! As in C; strides count numbers.
  type, bind(c) :: pairforge_points
     type(c_ptr) :: x = c_null_ptr, y = c_null_ptr, z = c_null_ptr
     integer(c_size_t) :: count = 0
     integer(c_intptr_t) :: stride = 1
  end type pairforge_points

  type, bind(c) :: pairforge_sources
     type(c_ptr) :: charges = c_null_ptr, px = c_null_ptr, py = c_null_ptr, pz = c_null_ptr
     integer(c_size_t) :: count = 0
     integer(c_intptr_t) :: charge_stride = 1, dipole_stride = 1
  end type pairforge_sources

  type, bind(c) :: pairforge_field
     type(c_ptr) :: potential = c_null_ptr, gx = c_null_ptr, gy = c_null_ptr, gz = c_null_ptr
     type(c_ptr) :: hessian(6) = c_null_ptr
     integer(c_size_t) :: count = 0
     integer(c_intptr_t) :: potential_stride = 1, gradient_stride = 1, hessian_stride = 1
  end type pairforge_field

  type, bind(c) :: pairforge_column
     type(c_ptr) :: name = c_null_ptr, values = c_null_ptr
     integer(c_size_t) :: count = 0
     integer(c_intptr_t) :: stride = 1
  end type pairforge_column

  interface
     integer(c_int) function pairforge_options_new(options) bind(c)
       import :: c_ptr, c_int
       type(c_ptr), intent(out) :: options
     end function pairforge_options_new

     subroutine pairforge_options_free(options) bind(c)
       import :: c_ptr
       type(c_ptr), value :: options
     end subroutine pairforge_options_free

     integer(c_int) function set_number(options, name, x) bind(c, name="pairforge_options_set_number")
       import :: c_ptr, c_int, c_char, c_double
       type(c_ptr), value :: options
       character(kind=c_char), intent(in) :: name(*)
       real(c_double), value :: x
     end function set_number

     integer(c_int) function set_text(options, name, text) bind(c, name="pairforge_options_set_text")
       import :: c_ptr, c_int, c_char
       type(c_ptr), value :: options
       character(kind=c_char), intent(in) :: name(*), text(*)
     end function set_text

     integer(c_int) function plan_new(sources, targets, options, plan) bind(c, name="pairforge_plan_new")
       import :: c_ptr, c_int
       type(c_ptr), value :: sources, targets, options
       type(c_ptr), intent(out) :: plan
     end function plan_new

     integer(c_int) function plan_update(plan, sources, targets) bind(c, name="pairforge_plan_update")
       import :: c_ptr, c_int
       type(c_ptr), value :: plan, sources, targets
     end function plan_update

     integer(c_int) function plan_run(plan, charges, count, stride, field) bind(c, name="pairforge_plan_run")
       import :: c_ptr, c_int, c_size_t, c_intptr_t, c_double, pairforge_field
       type(c_ptr), value :: plan
       real(c_double), intent(in) :: charges(*)
       integer(c_size_t), value :: count
       integer(c_intptr_t), value :: stride
       type(pairforge_field), intent(in) :: field
     end function plan_run

     integer(c_int) function plan_run_sets(plan, sets, fields, count) bind(c, name="pairforge_plan_run_sets")
       import :: c_ptr, c_int, c_size_t, pairforge_sources, pairforge_field
       type(c_ptr), value :: plan
       type(pairforge_sources), intent(in) :: sets(*)
       type(pairforge_field), intent(in) :: fields(*)
       integer(c_size_t), value :: count
     end function plan_run_sets

     integer(c_int) function direct_set(sources, targets, set, eps, field) bind(c, name="pairforge_direct_set")
       import :: c_ptr, c_int, c_double, pairforge_sources, pairforge_field
       type(c_ptr), value :: sources, targets
       type(pairforge_sources), intent(in) :: set
       real(c_double), value :: eps
       type(pairforge_field), intent(in) :: field
     end function direct_set

     integer(c_int) function direct(sources, targets, charges, stride, eps, field) bind(c, name="pairforge_direct")
       import :: c_ptr, c_int, c_intptr_t, c_double, pairforge_field
       type(c_ptr), value :: sources, targets
       real(c_double), intent(in) :: charges(*)
       integer(c_intptr_t), value :: stride
       real(c_double), value :: eps
       type(pairforge_field), intent(in) :: field
     end function direct

     subroutine pairforge_plan_free(plan) bind(c)
       import :: c_ptr
       type(c_ptr), value :: plan
     end subroutine pairforge_plan_free

     integer(c_int) function compile(name, text, kernel) bind(c, name="pairforge_kernel_compile")
       import :: c_ptr, c_int, c_char
       character(kind=c_char), intent(in) :: name(*), text(*)
       type(c_ptr), intent(out) :: kernel
     end function compile

     integer(c_int) function shipped(name, kernel) bind(c, name="pairforge_kernel_shipped")
       import :: c_ptr, c_int, c_char
       character(kind=c_char), intent(in) :: name(*)
       type(c_ptr), intent(out) :: kernel
     end function shipped

     subroutine pairforge_kernel_free(kernel) bind(c)
       import :: c_ptr
       type(c_ptr), value :: kernel
     end subroutine pairforge_kernel_free

     integer(c_int) function kernel_param(kernel, name, x) bind(c, name="pairforge_kernel_set_param")
       import :: c_ptr, c_int, c_char, c_double
       type(c_ptr), value :: kernel
       character(kind=c_char), intent(in) :: name(*)
       real(c_double), value :: x
     end function kernel_param

     integer(c_int) function kernel_run(kernel, backend, i, ni, j, nj, sums) bind(c, name="pairforge_kernel_run")
       import :: c_ptr, c_int, c_char, c_size_t, pairforge_column
       type(c_ptr), value :: kernel
       character(kind=c_char), intent(in) :: backend(*)
       type(pairforge_column), intent(in) :: i(*), j(*)
       integer(c_size_t), value :: ni, nj
       type(c_ptr), intent(out) :: sums
     end function kernel_run

     integer(c_int) function session_open(kernel, backend, session) bind(c, name="pairforge_session_open")
       import :: c_ptr, c_int, c_char
       type(c_ptr), value :: kernel
       character(kind=c_char), intent(in) :: backend(*)
       type(c_ptr), intent(out) :: session
     end function session_open

     integer(c_int) function session_param(session, name, x) bind(c, name="pairforge_session_set_param")
       import :: c_ptr, c_int, c_char, c_double
       type(c_ptr), value :: session
       character(kind=c_char), intent(in) :: name(*)
       real(c_double), value :: x
     end function session_param

     integer(c_int) function session_sources(session, j, n) bind(c, name="pairforge_session_set_sources")
       import :: c_ptr, c_int, c_size_t, pairforge_column
       type(c_ptr), value :: session
       type(pairforge_column), intent(in) :: j(*)
       integer(c_size_t), value :: n
     end function session_sources

     integer(c_int) function session_run(session, i, n, sums) bind(c, name="pairforge_session_run")
       import :: c_ptr, c_int, c_size_t, pairforge_column
       type(c_ptr), value :: session
       type(pairforge_column), intent(in) :: i(*)
       integer(c_size_t), value :: n
       type(c_ptr), intent(out) :: sums
     end function session_run

     subroutine pairforge_session_close(session) bind(c)
       import :: c_ptr
       type(c_ptr), value :: session
     end subroutine pairforge_session_close

     integer(c_int) function sums_column(sums, name, values, count, stride) bind(c, name="pairforge_sums_column")
       import :: c_ptr, c_int, c_char, c_size_t, c_intptr_t, c_double
       type(c_ptr), value :: sums
       character(kind=c_char), intent(in) :: name(*)
       real(c_double), intent(out) :: values(*)
       integer(c_size_t), value :: count
       integer(c_intptr_t), value :: stride
     end function sums_column

     integer(c_int32_t) function pairforge_sums_flags(sums, target) bind(c)
       import :: c_ptr, c_size_t, c_int32_t
       type(c_ptr), value :: sums
       integer(c_size_t), value :: target
     end function pairforge_sums_flags

     subroutine pairforge_sums_free(sums) bind(c)
       import :: c_ptr
       type(c_ptr), value :: sums
     end subroutine pairforge_sums_free

     type(c_ptr) function last_error() bind(c, name="pairforge_last_error")
       import :: c_ptr
     end function last_error

     integer(c_size_t) function strlen(text) bind(c, name="strlen")
       import :: c_ptr, c_size_t
       type(c_ptr), value :: text
     end function strlen
  end interface

contains

  ! Points from an array x(3, n), which must be contiguous and stay as long as they are used.
  function pairforge_points_of(x) result(points)
    real(c_double), intent(in), target, contiguous :: x(:, :)
    type(pairforge_points) :: points
    points%count = size(x, 2, c_size_t)
    points%stride = size(x, 1)
    if (points%count == 0) return
    points%x = c_loc(x(1, 1))
    points%y = c_loc(x(2, 1))
    points%z = c_loc(x(3, 1))
  end function pairforge_points_of

  ! Loads of sources, from charges(n), dipole moments(3, n), or both, which must stay as long as they are used.
  function pairforge_sources_of(charges, dipoles) result(sources)
    real(c_double), intent(in), target, contiguous, optional :: charges(:)
    real(c_double), intent(in), target, contiguous, optional :: dipoles(:, :)
    type(pairforge_sources) :: sources
    type(pairforge_points) :: moments
    if (present(charges)) then
       sources%count = size(charges, kind=c_size_t)
       if (sources%count > 0) sources%charges = c_loc(charges(1))
    end if
    if (.not. present(dipoles)) return
    ! Vectors lie as points do.
    moments = pairforge_points_of(dipoles)
    sources%count = moments%count
    sources%dipole_stride = moments%stride
    sources%px = moments%x
    sources%py = moments%y
    sources%pz = moments%z
  end function pairforge_sources_of

  ! Room for results in arrays potential(n) and gradient(3, n).
  function pairforge_field_of(potential, gradient) result(field)
    real(c_double), intent(in), target, contiguous :: potential(:)
    real(c_double), intent(in), target, contiguous, optional :: gradient(:, :)
    type(pairforge_field) :: field
    field%count = size(potential, kind=c_size_t)
    if (field%count == 0) return
    field%potential = c_loc(potential(1))
    if (.not. present(gradient)) return
    field%gx = c_loc(gradient(1, 1))
    field%gy = c_loc(gradient(2, 1))
    field%gz = c_loc(gradient(3, 1))
    field%gradient_stride = size(gradient, 1)
  end function pairforge_field_of

  ! A column of numbers for a pin, whose name must end with c_null_char and stay, as the numbers must.
  function pairforge_column_of(name, values, stride, count) result(column)
    character(kind=c_char, len=*), intent(in), target :: name
    real(c_double), intent(in), target :: values(*)
    integer, intent(in) :: stride, count
    type(pairforge_column) :: column
    column%name = c_loc(name)
    column%values = c_loc(values)
    column%stride = stride
    column%count = count
  end function pairforge_column_of

  ! The sentence of the last call that failed.
  function pairforge_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    type(c_ptr) :: first
    integer :: k
    first = last_error()
    call c_f_pointer(first, characters, [strlen(first)])
    allocate (character(len=size(characters)) :: text)
    do k = 1, size(characters)
       text(k:k) = characters(k)
    end do
  end function pairforge_error

  ! Ends the program with the sentence if a call has failed.
  subroutine pairforge_check(status)
    integer(c_int), intent(in) :: status
    if (status == pairforge_ok) return
    print '(a)', pairforge_error()
    error stop 1
  end subroutine pairforge_check

  function ended(text)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: ended
    ended = trim(text)//c_null_char
  end function ended

  integer(c_int) function pairforge_options_set_number(options, name, x) result(status)
    type(c_ptr), intent(in) :: options
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: x
    status = set_number(options, ended(name), x)
  end function pairforge_options_set_number

  integer(c_int) function pairforge_options_set_text(options, name, text) result(status)
    type(c_ptr), intent(in) :: options
    character(len=*), intent(in) :: name, text
    status = set_text(options, ended(name), ended(text))
  end function pairforge_options_set_text

  integer(c_int) function pairforge_plan_new(sources, plan, targets, options) result(status)
    type(pairforge_points), intent(in), target :: sources
    type(c_ptr), intent(out) :: plan
    type(pairforge_points), intent(in), target, optional :: targets
    type(c_ptr), intent(in), optional :: options
    type(c_ptr) :: t, o
    t = c_null_ptr
    o = c_null_ptr
    if (present(targets)) t = c_loc(targets)
    if (present(options)) o = options
    status = plan_new(c_loc(sources), t, o, plan)
  end function pairforge_plan_new

  integer(c_int) function pairforge_plan_update(plan, sources, targets) result(status)
    type(c_ptr), intent(in) :: plan
    type(pairforge_points), intent(in), target :: sources
    type(pairforge_points), intent(in), target, optional :: targets
    type(c_ptr) :: t
    t = c_null_ptr
    if (present(targets)) t = c_loc(targets)
    status = plan_update(plan, c_loc(sources), t)
  end function pairforge_plan_update

  integer(c_int) function pairforge_plan_run(plan, charges, field) result(status)
    type(c_ptr), intent(in) :: plan
    real(c_double), intent(in), contiguous :: charges(:)
    type(pairforge_field), intent(in) :: field
    status = plan_run(plan, charges, size(charges, kind=c_size_t), 1_c_intptr_t, field)
  end function pairforge_plan_run

  ! The field of each of several sets at once.
  integer(c_int) function pairforge_plan_run_sets(plan, sets, fields) result(status)
    type(c_ptr), intent(in) :: plan
    type(pairforge_sources), intent(in) :: sets(:)
    type(pairforge_field), intent(in) :: fields(size(sets))
    status = plan_run_sets(plan, sets, fields, size(sets, kind=c_size_t))
  end function pairforge_plan_run_sets

  integer(c_int) function pairforge_direct_set(sources, set, eps, field, targets) result(status)
    type(pairforge_points), intent(in), target :: sources
    type(pairforge_sources), intent(in) :: set
    real(c_double), intent(in) :: eps
    type(pairforge_field), intent(in) :: field
    type(pairforge_points), intent(in), target, optional :: targets
    type(c_ptr) :: t
    t = c_null_ptr
    if (present(targets)) t = c_loc(targets)
    status = direct_set(c_loc(sources), t, set, eps, field)
  end function pairforge_direct_set

  integer(c_int) function pairforge_direct(sources, charges, eps, field, targets) result(status)
    type(pairforge_points), intent(in), target :: sources
    real(c_double), intent(in), contiguous :: charges(:)
    real(c_double), intent(in) :: eps
    type(pairforge_field), intent(in) :: field
    type(pairforge_points), intent(in), target, optional :: targets
    type(c_ptr) :: t
    t = c_null_ptr
    if (present(targets)) t = c_loc(targets)
    status = direct(c_loc(sources), t, charges, 1_c_intptr_t, eps, field)
  end function pairforge_direct

  integer(c_int) function pairforge_kernel_compile(name, text, kernel) result(status)
    character(len=*), intent(in) :: name, text
    type(c_ptr), intent(out) :: kernel
    status = compile(ended(name), ended(text), kernel)
  end function pairforge_kernel_compile

  integer(c_int) function pairforge_kernel_shipped(name, kernel) result(status)
    character(len=*), intent(in) :: name
    type(c_ptr), intent(out) :: kernel
    status = shipped(ended(name), kernel)
  end function pairforge_kernel_shipped

  integer(c_int) function pairforge_kernel_set_param(kernel, name, x) result(status)
    type(c_ptr), intent(in) :: kernel
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: x
    status = kernel_param(kernel, ended(name), x)
  end function pairforge_kernel_set_param

  integer(c_int) function pairforge_kernel_run(kernel, backend, i, j, sums) result(status)
    type(c_ptr), intent(in) :: kernel
    character(len=*), intent(in) :: backend
    type(pairforge_column), intent(in) :: i(:), j(:)
    type(c_ptr), intent(out) :: sums
    status = kernel_run(kernel, ended(backend), i, size(i, kind=c_size_t), j, size(j, kind=c_size_t), sums)
  end function pairforge_kernel_run

  integer(c_int) function pairforge_session_open(kernel, backend, session) result(status)
    type(c_ptr), intent(in) :: kernel
    character(len=*), intent(in) :: backend
    type(c_ptr), intent(out) :: session
    status = session_open(kernel, ended(backend), session)
  end function pairforge_session_open

  integer(c_int) function pairforge_session_set_param(session, name, x) result(status)
    type(c_ptr), intent(in) :: session
    character(len=*), intent(in) :: name
    real(c_double), intent(in) :: x
    status = session_param(session, ended(name), x)
  end function pairforge_session_set_param

  integer(c_int) function pairforge_session_set_sources(session, j) result(status)
    type(c_ptr), intent(in) :: session
    type(pairforge_column), intent(in) :: j(:)
    status = session_sources(session, j, size(j, kind=c_size_t))
  end function pairforge_session_set_sources

  integer(c_int) function pairforge_session_run(session, i, sums) result(status)
    type(c_ptr), intent(in) :: session
    type(pairforge_column), intent(in) :: i(:)
    type(c_ptr), intent(out) :: sums
    status = session_run(session, i, size(i, kind=c_size_t), sums)
  end function pairforge_session_run

  integer(c_int) function pairforge_sums_column(sums, name, values) result(status)
    type(c_ptr), intent(in) :: sums
    character(len=*), intent(in) :: name
    real(c_double), intent(out), contiguous :: values(:)
    status = sums_column(sums, ended(name), values, size(values, kind=c_size_t), 1_c_intptr_t)
  end function pairforge_sums_column
end module pairforge
