// A known delay, to prove that a gate on kernel time sees one: as long as the host has calibrated it to be.

// The counter is volatile, so that no compiler can tell the end of the loop without running it.
extern "C" __global__ void canary_delay(long long iterations)
{
    volatile long long done = 0;
    while (done < iterations)
    {
        done = done + 1;
    }
}
