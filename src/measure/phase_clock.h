// phase_clock.h -- where the host's time goes: seconds and visits by phase, so that a run over
// thousands of shapes can say what it spent its minutes on.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace gemmsmith {

class PhaseClock {
 public:
  struct Total {
    double seconds = 0;
    long visits = 0;
  };

  // Adds its own lifetime to a phase.
  class Scope {
   public:
    Scope(PhaseClock& clock, const char* phase)
        : clock_(clock), phase_(phase), start_(std::chrono::steady_clock::now()) {}
    ~Scope() {
      Total& total = clock_.totals_[phase_];
      total.seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
      ++total.visits;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PhaseClock& clock_;
    const char* phase_;
    std::chrono::steady_clock::time_point start_;
  };

  const std::map<std::string, Total>& totals() const { return totals_; }

 private:
  std::map<std::string, Total> totals_;
};

}  // namespace gemmsmith
