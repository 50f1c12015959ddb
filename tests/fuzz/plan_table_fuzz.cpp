// Plan tables with a right checksum, as a faulty writer or an attacker would make them: a table
// that opens is one whose every entry can be found and read within the file.
#include <cstring>

#include "base/hash.h"
#include "fuzz/fuzz.h"
#include "plan/plan_table.h"
#include "plan/plan_table_layout.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::text_of(data, size));
  if (bytes.size() >= sizeof(plan::PlanFileHeader)) {
    const std::uint64_t length = bytes.size();
    std::memcpy(bytes.data() + offsetof(plan::PlanFileHeader, file_bytes), &length, sizeof length);
    const std::uint64_t sum = hash64(std::string_view(bytes).substr(plan::kPlanChecksumEnd));
    std::memcpy(bytes.data() + offsetof(plan::PlanFileHeader, checksum), &sum, sizeof sum);
  }
  const auto table = plan::PlanTable::from_bytes(bytes, "t.plans");
  if (!table) {
    fuzz::require(table.error().code == ErrorCode::kStore, "an unsound table is a store error");
    return 0;
  }
  std::size_t read = table->device_name().size() + table->cublas_version().size() +
                     table->compiler_version().size();
  for (const plan::PlanEntry& entry : table->entries()) {
    fuzz::require(table->find(entry.key) == &entry, "every entry is found");
    read += std::strlen(table->text(entry).data());
    if (entry.source != plan::PlanSource::kKernel) continue;
    fuzz::require(entry.kernel < table->kernel_count(), "a kernel plan has a kernel");
    const plan::PlanKernel kernel = table->kernel(entry.kernel);
    read += hash64(kernel.cubin) % 2 + std::strlen(kernel.function.data());
  }
  return read == SIZE_MAX ? 1 : 0;  // keeps the reads
}
