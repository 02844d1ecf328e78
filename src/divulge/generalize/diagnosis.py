def nothing_fits(problem, *, proved): raise NotImplementedError
