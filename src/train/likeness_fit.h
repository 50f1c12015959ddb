// likeness_fit.h -- how far one config's error speaks for another's, fitted on problems that the
// scorer has not seen: on those it has, its errors are too small.
#pragma once

#include <span>

#include "policy/network.h"
#include "train/dataset.h"

namespace gemmsmith::train {

// The likeness that makes the measured errors most probable, of a fixed grid.
policy::Likeness fit_likeness(const policy::Network& network, std::span<const Shape* const> shapes);

}  // namespace gemmsmith::train
