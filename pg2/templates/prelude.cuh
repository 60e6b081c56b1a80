// What the texts below have under one name in CUDA C++ and in C++ for the host, behind the types of ctext/head.h.
#ifdef __CUDACC__
PF double number(uint64_t bits) { return __longlong_as_double((long long)bits); }
PF uint64_t pattern(double x) { return (uint64_t)__double_as_longlong(x); }
#else
using std::exp; using std::fabs; using std::fmax; using std::fmin; using std::ldexp; using std::log; using std::pow;
using std::rint; using std::sqrt; using std::sin; using std::cos; using std::trunc;
PF double number(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
PF uint64_t pattern(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }
PF double rsqrt(double x) { return 1 / sqrt(x); }
PF float rsqrt(float x) { return 1 / sqrt(x); }
#endif
typedef __int128 int128_t;

// Sticky flags (RULES N7).
#define FLAG_OVERFLOW 1u
#define FLAG_UNDERFLOW 2u
#define FLAG_SATURATION 4u
#define FLAG_INVALID 8u
#define FLAG_WRAP 16u
