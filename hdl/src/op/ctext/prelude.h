/* What exact text is made with. Shifts by more than the width give 0; leading zeros of 0 are all bits. */
#ifndef PF_TABLE
#ifdef __CUDACC__
#define PF_TABLE static __device__ const
#else
#define PF_TABLE static const
#endif
#define PF_AT(table, index) (table[index])
#endif
typedef unsigned __int128 pf_u128;
typedef __int128 pf_i128;

#ifdef __CUDACC__
PF uint32_t pf_shr32(uint32_t x, uint32_t n) { return __funnelshift_rc(x, 0u, n); }
PF uint32_t pf_shl32(uint32_t x, uint32_t n) { return __funnelshift_lc(0u, x, n); }
PF uint64_t pf_shr64(uint64_t x, uint32_t n) { uint64_t r; asm("shr.u64 %0, %1, %2;" : "=l"(r) : "l"(x), "r"(n)); return r; }
PF uint64_t pf_shl64(uint64_t x, uint32_t n) { uint64_t r; asm("shl.b64 %0, %1, %2;" : "=l"(r) : "l"(x), "r"(n)); return r; }
PF uint32_t pf_clz32(uint32_t x) { return (uint32_t)__clz((int)x); }
PF uint32_t pf_clz64(uint64_t x) { return (uint32_t)__clzll((long long)x); }
/* Single precision to nearest even, with subnormal numbers, whatever options say. */
PF uint32_t pf_mulf(uint32_t a, uint32_t b) { uint32_t r; asm("{ .reg .f32 a, b, r; mov.b32 a, %1; mov.b32 b, %2; mul.rn.f32 r, a, b; mov.b32 %0, r; }" : "=r"(r) : "r"(a), "r"(b)); return r; }
PF uint32_t pf_addf(uint32_t a, uint32_t b) { uint32_t r; asm("{ .reg .f32 a, b, r; mov.b32 a, %1; mov.b32 b, %2; add.rn.f32 r, a, b; mov.b32 %0, r; }" : "=r"(r) : "r"(a), "r"(b)); return r; }
/* Double precision on numbers that are given by their upper word alone; the lowest bit of the result says whether the lower
   word is other than 0 too. */
PF uint32_t pf_upper(double r) { const uint32_t low = (uint32_t)__double2loint(r); return (uint32_t)__double2hiint(r) | (low < 1u ? low : 1u); }
PF uint32_t pf_muld(uint32_t a, uint32_t b) { return pf_upper(__dmul_rn(__hiloint2double((int)a, 0), __hiloint2double((int)b, 0))); }
PF uint32_t pf_addd(uint32_t a, uint32_t b) { return pf_upper(__dadd_rn(__hiloint2double((int)a, 0), __hiloint2double((int)b, 0))); }
PF int32_t pf_roundd32(uint32_t a) { return __double2int_rn(__hiloint2double((int)a, 0)); }
PF int64_t pf_roundd64(uint32_t a) { return __double2ll_rn(__hiloint2double((int)a, 0)); }
PF int32_t pf_cutd32(uint32_t a) { return __double2int_rz(__hiloint2double((int)a, 0)); }
PF int64_t pf_cutd64(uint32_t a) { return __double2ll_rz(__hiloint2double((int)a, 0)); }
PF int64_t pf_roundf(uint32_t a) { return __float2ll_rn(__uint_as_float(a)); }
PF int32_t pf_roundf32(uint32_t a) { return __float2int_rn(__uint_as_float(a)); }
#else
PF uint32_t pf_shr32(uint32_t x, uint32_t n) { return n < 32 ? x >> n : 0; }
PF uint32_t pf_shl32(uint32_t x, uint32_t n) { return n < 32 ? x << n : 0; }
PF uint64_t pf_shr64(uint64_t x, uint32_t n) { return n < 64 ? x >> n : 0; }
PF uint64_t pf_shl64(uint64_t x, uint32_t n) { return n < 64 ? x << n : 0; }
PF uint32_t pf_clz32(uint32_t x) { return x ? (uint32_t)__builtin_clz(x) : 32; }
PF uint32_t pf_clz64(uint64_t x) { return x ? (uint32_t)__builtin_clzll(x) : 64; }
PF float pf_float(uint32_t a) { float f; std::memcpy(&f, &a, 4); return f; }
PF uint32_t pf_word(float f) { uint32_t a; std::memcpy(&a, &f, 4); return a; }
PF uint32_t pf_mulf(uint32_t a, uint32_t b) { return pf_word(pf_float(a) * pf_float(b)); }
PF uint32_t pf_addf(uint32_t a, uint32_t b) { return pf_word(pf_float(a) + pf_float(b)); }
PF double pf_double(uint32_t a) { const uint64_t bits = (uint64_t)a << 32; double f; std::memcpy(&f, &bits, 8); return f; }
PF uint32_t pf_upper(double r) { uint64_t bits; std::memcpy(&bits, &r, 8); return (uint32_t)(bits >> 32) | ((uint32_t)bits != 0); }
PF uint32_t pf_muld(uint32_t a, uint32_t b) { return pf_upper(pf_double(a) * pf_double(b)); }
PF uint32_t pf_addd(uint32_t a, uint32_t b) { return pf_upper(pf_double(a) + pf_double(b)); }
/* Beyond the range it is the range's end, as a GPU's conversion has it. */
PF int32_t pf_within32(double f) { return f >= 0x1p31 ? INT32_MAX : f < -0x1p31 ? INT32_MIN : (int32_t)f; }
PF int64_t pf_within64(double f) { return f >= 0x1p63 ? INT64_MAX : f < -0x1p63 ? INT64_MIN : (int64_t)f; }
PF int32_t pf_roundd32(uint32_t a) { return pf_within32(std::rint(pf_double(a))); }
PF int64_t pf_roundd64(uint32_t a) { return pf_within64(std::rint(pf_double(a))); }
PF int32_t pf_cutd32(uint32_t a) { return pf_within32(std::trunc(pf_double(a))); }
PF int64_t pf_cutd64(uint32_t a) { return pf_within64(std::trunc(pf_double(a))); }
PF int64_t pf_roundf(uint32_t a) { return pf_within64(std::rint((double)pf_float(a))); }
PF int32_t pf_roundf32(uint32_t a) { return pf_within32(std::rint((double)pf_float(a))); }
#endif
PF pf_u128 pf_shr128(pf_u128 x, uint32_t n) { return n < 128 ? x >> n : 0; }
PF pf_u128 pf_shl128(pf_u128 x, uint32_t n) { return n < 128 ? x << n : 0; }
PF uint32_t pf_clz128(pf_u128 x) {
    const uint64_t high = (uint64_t)(x >> 64);
    return high ? pf_clz64(high) : 64 + pf_clz64((uint64_t)x);
}
/* A sum of 96 bits, of which `high` are the upper 32. */
PF void pf_add96(uint64_t *low, uint32_t *high, uint64_t x, uint32_t above) {
#ifdef __CUDACC__
    uint32_t a = (uint32_t)*low, b = (uint32_t)(*low >> 32);
    asm("add.cc.u32 %0, %0, %3; addc.cc.u32 %1, %1, %4; addc.u32 %2, %2, %5;"
        : "+r"(a), "+r"(b), "+r"(*high)
        : "r"((uint32_t)x), "r"((uint32_t)(x >> 32)), "r"(above));
    *low = (uint64_t)b << 32 | a;
#else
    const uint64_t sum = *low + x;
    *high += above + (sum < x);
    *low = sum;
#endif
}
