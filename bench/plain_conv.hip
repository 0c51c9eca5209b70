// The least that a direct forward convolution can be: NCHW fp32 with fixed strides and nothing general.
// The naive kernel's price for every layout, type and rank is measured against it.
extern "C" __global__ void __launch_bounds__(256)
plain_conv(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y)
{
    const int index = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if(index >= N * K * OUT_H * OUT_W)
        return;
    const int ow = index % OUT_W;
    const int oh = index / OUT_W % OUT_H;
    const int k = index / (OUT_W * OUT_H) % K;
    const int n = index / (OUT_W * OUT_H * K);
    float sum = 0.0f;
    for(int c = 0; c < C; ++c)
        for(int fh = 0; fh < FIL_H; ++fh)
        {
            const int ih = oh - PAD + fh;
            if(ih < 0 || ih >= IN_H)
                continue;
            for(int fw = 0; fw < FIL_W; ++fw)
            {
                const int iw = ow - PAD + fw;
                if(iw < 0 || iw >= IN_W)
                    continue;
                sum = fmaf(x[((n * C + c) * IN_H + ih) * IN_W + iw], w[((k * C + c) * FIL_H + fh) * FIL_W + fw], sum);
            }
        }
    y[index] = sum;
}
