// process.h -- who holds a lease: this process, named so that another process of the same machine
// can tell whether it still lives.
#pragma once

#include <string>

namespace gemmsmith::store {

// "BOOT PIDNS PID START": unique among all processes that may share a store on one machine.
std::string process_identity();

// False only where the process surely ended: same boot and process namespace, and no process with
// its number and start time. Of other machines nothing is known: alive until the lease expires.
bool may_be_alive(const std::string& identity);

}  // namespace gemmsmith::store
