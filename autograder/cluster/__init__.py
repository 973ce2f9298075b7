"""Judging on many machines: a Dask cluster's workers judge, this machine keeps the verdicts."""
