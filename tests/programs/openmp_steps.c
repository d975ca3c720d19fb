/* Many short parallel regions: each ends when the last thread of its pool has had a CPU. */
double steps(double *values, long length, long regions)
{
    double sum = 0.0;
    for (long region = 0; region < regions; region++) {
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (long i = 0; i < length; i++) {
            values[i] = values[i] * 0.999 + 0.001;
            sum += values[i];
        }
    }
    return sum;
}
