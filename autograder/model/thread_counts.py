"""How many threads the numeric libraries compute with, as their environment variables say it.

The arrays here are small: more threads than one gain nothing, and where other processes have the
cores, threads that wait for each other take several times as long.
"""

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
