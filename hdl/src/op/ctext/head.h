/* The types and the functions that exact text is made with, where nothing else gives them. */
#ifdef __CUDACC__
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define PF static __device__ __forceinline__
#else
#include <cmath>
#include <cstdint>
#include <cstring>
#define PF static inline
#endif
