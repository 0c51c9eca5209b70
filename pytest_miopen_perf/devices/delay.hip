// A known delay, to prove that a gate on kernel time sees one: as long as the host has calibrated it to be.
//
// Each turn of the loop needs the result of the one before it, and no compiler knows a shorter way to the last one. A
// volatile counter alone would not do: ptxas keeps a private one in a register and drops the loop around it.
extern "C" __global__ void canary_delay(long long iterations)
{
    __shared__ volatile unsigned long long last;
    unsigned long long state = 88172645463325252ull;
    for(long long done = 0; done < iterations; ++done)
    {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    last = state;
}
