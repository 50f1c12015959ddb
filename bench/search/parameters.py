"""parameters.py -- a recorded space as other tuners want it: named parameters with a list of values
each, and the recorded configs as points of it. What is exported (export_t4.py) and what Kernel
Tuner's strategies search (kernel_tuner_peers.py) are made here, so that they are the same.

A parameter is one of the features that say what a config is, ours and the vendor's alike; sizes are
sizes again instead of logarithms. Parameters with one value in the whole space are left out.
"""

FIRST, LAST = "log_tile_m", "lt_other"
# In the order of the features that tell them apart. Numbers, since strategies take differences.
FAMILIES = {"is_ws": 0, "is_mma": 1, "is_vendor": 2}
GROUP_UNIT = 8  # the feature is the logarithm of a group over the default one


def readable(feature, value):
    """A feature's name and value as a person would write them: whole numbers of things."""
    if feature == "log_group":
        return "group", round(GROUP_UNIT * 2.0 ** value)
    if feature.startswith("log_"):
        # The table holds five digits: enough to tell any two sizes apart once rounded.
        return feature.removeprefix("log_"), round(2.0 ** value)
    return feature, round(value)


class Points:
    """`values`: name -> ascending values; `points[i]`: config i, one value a name."""

    def __init__(self, shape, feature_names):
        flags = [feature_names.index(name) for name in FAMILIES]
        columns = {"family": [list(FAMILIES.values())[int(row[flags].argmax())]
                              for row in shape.features]}
        first, last = feature_names.index(FIRST), feature_names.index(LAST)
        for column in range(first, last + 1):
            found = [readable(feature_names[column], float(x)) for x in shape.features[:, column]]
            columns[found[0][0]] = [value for _, value in found]
        columns = {name: values for name, values in columns.items() if len(set(values)) > 1}
        self.values = {name: sorted(set(values)) for name, values in columns.items()}
        self.points = list(zip(*columns.values()))
        if len(set(self.points)) < len(shape):
            raise ValueError(f"{shape.name}: two recorded configs have the same parameters")
