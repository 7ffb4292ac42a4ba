// A step of a lattice Boltzmann method (D3Q19) on N * N * N periodic cells: 19 populations are read, relaxed towards
// their equilibrium and written back. In place: of two opposite directions, one is read here and one at the neighbour,
// and each is written where the other one was read, so that no work-item reads what another one writes.
#define CELLS (N * N * N)
#define PAIRS 9

kernel void lattice(global float *populations, global const uchar *solid, float rate)
{
    const float x[PAIRS] = {1, 0, 0, 1, 1, 0, 1, 1, 0};
    const float y[PAIRS] = {0, 1, 0, 1, 0, 1, -1, 0, 1};
    const float z[PAIRS] = {0, 0, 1, 0, 1, 1, 0, -1, -1};
    const uint cell = get_global_id(0);
    if (solid[cell])
        return;
    const uint i = cell % N, j = cell / N % N, k = cell / (N * N);
    const uint right = (i + 1) % N;
    const uint row = j * N, above = (j + 1) % N * N, below = (j + N - 1) % N * N;
    const uint plane = k * N * N, front = (k + 1) % N * N * N, back = (k + N - 1) % N * N * N;
    const uint neighbour[PAIRS] = {right + row + plane, i + above + plane,    i + row + front,
                                   right + above + plane, right + row + front, i + above + front,
                                   right + below + plane, right + row + back,  i + above + back};
    const float resting = populations[cell];
    float there[PAIRS], here[PAIRS];
    float density = resting, u = 0, v = 0, w = 0;
    #pragma unroll
    for (int p = 0; p < PAIRS; ++p) {
        here[p] = populations[(2 * p + 1) * CELLS + cell];
        there[p] = populations[(2 * p + 2) * CELLS + neighbour[p]];
        const float flow = here[p] - there[p];
        density += here[p] + there[p];
        u += x[p] * flow;
        v += y[p] * flow;
        w += z[p] * flow;
    }
    const float scale = 3.0f / density;
    u *= scale;
    v *= scale;
    w *= scale;
    const float still = 1.0f - (u * u + v * v + w * w) / 6.0f;
    populations[cell] = resting + rate * (density * still / 3.0f - resting);
    #pragma unroll
    for (int p = 0; p < PAIRS; ++p) {
        const float weight = density / (p < 3 ? 18.0f : 36.0f);
        const float along = x[p] * u + y[p] * v + z[p] * w;
        const float even = still + 0.5f * along * along;
        populations[(2 * p + 2) * CELLS + neighbour[p]] = here[p] + rate * (weight * (even + along) - here[p]);
        populations[(2 * p + 1) * CELLS + cell] = there[p] + rate * (weight * (even - along) - there[p]);
    }
}
