// Imports of a store: a bad file changes nothing; a good one comes out of an export again, and an
// import of that export adds nothing.
#include <optional>

#include "base/files.h"
#include "fuzz/fuzz.h"
#include "store/store.h"

using namespace gemmsmith;

namespace {

// A new empty store in the place of the old one.
Store fresh_store(const std::filesystem::path& path) {
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
  auto store = Store::open(path, Store::Mode::kReadWrite);
  fuzz::require(store.has_value(), "a new store opens");
  return std::move(*store);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto folder = fuzz::scratch_folder();
  static std::optional<Store> store = fresh_store(folder / "store.db");
  const auto lines = folder / "lines.jsonl";
  if (!write_file_atomic(lines, fuzz::text_of(data, size))) return 0;
  const auto imported = store->import_json_lines(lines);
  if (!imported) {
    fuzz::require(imported.error().code == ErrorCode::kBadInput,
                  "a bad import is bad input: " + imported.error().what);
    fuzz::require(store->runs()->empty() && store->winners()->empty() &&
                      store->all_measurements()->empty() && store->all_counters()->empty(),
                  "a bad import changes nothing");
    return 0;
  }
  const auto exported = folder / "exported.jsonl";
  fuzz::require(store->export_json_lines(exported).has_value(), "what was imported is exported");
  fuzz::require(store->damaged_rows() == 0, "an imported row has a right checksum");
  const auto again = store->import_json_lines(exported);
  fuzz::require(again.has_value(), "an export is importable: " + (again ? "" : again.error().what));
  fuzz::require(again->runs + again->measurements + again->winners + again->counters == 0,
                "importing one's own export adds nothing");
  if (imported->runs + imported->measurements + imported->winners + imported->counters > 0) {
    store.reset();
    store = fresh_store(folder / "store.db");
  }
  return 0;
}
