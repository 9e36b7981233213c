"""The parts of bench/run: machine, subjects, cases, judge, report."""
