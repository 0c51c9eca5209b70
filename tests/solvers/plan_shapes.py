"""A solution in short."""


def shape_of_plan(solution):
    return [(launch.kernel.entry, launch.grid[0], [arg.name for arg in launch.args]) for launch in solution.launches]
