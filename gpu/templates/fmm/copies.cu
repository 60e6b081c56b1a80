// The common part of products of matrices by blocks: the cells of a block, and copies of 16 bytes to shared memory that go on beside
// other work, where the GPU has them.

#define CELLS 64
#define NOWHERE 0xffffffffu     // in place of a cell where there is none

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
// Copies 16 bytes, or sets them to 0.
PF void copy(Real *to, const Real *from, const bool is_there)
{
    const uint32_t place = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from), "r"(is_there ? 16 : 0));
}
PF void end_copies() { asm volatile("cp.async.commit_group;"); }
// Waits for all copies but the last groups of them.
template <int GROUPS> PF void wait_but() { asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS)); }
#else
PF void copy(Real *to, const Real *from, const bool is_there)
{
    const Vector none = {};
    *(Vector *)to = is_there ? *(const Vector *)from : none;
}
PF void end_copies() {}
template <int GROUPS> PF void wait_but() {}
#endif
