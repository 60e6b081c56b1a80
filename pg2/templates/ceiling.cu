// How many instructions the GPU issues: independent fused multiply-adds that nothing waits for.

#define CHAINS 16

extern "C" __global__ void __launch_bounds__(256) ceiling(float *out, const float factor, const int steps)
{
    float x[CHAINS];
    for (int k = 0; k < CHAINS; k++)
        x[k] = threadIdx.x + k;
    for (int step = 0; step < steps; step++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * factor + 1.0f;
    float sum = 0;
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
