"""The family of monitoring: what is claimed of rows that arrive one by one."""

from distfreeuq.theorems.monitoring import stream_alarms, stream_means, stream_risk

THEOREMS = (*stream_alarms.THEOREMS, *stream_means.THEOREMS, *stream_risk.THEOREMS)
