#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/interrupt.h"
#include "device/device_json.h"
#include "device/recorded_device.h"
#include "device/recording.h"
#include "store/store_fixture.h"

namespace gemmsmith {
namespace {

TEST_F(StoreTest, ExportAndImportGiveTheSameStore) {
  fill(file("a.db"), 5);
  Store a = must_open(file("a.db"));
  const StoredCounters counted = counters_of(problem_of(64), kWinnerConfig, "r1");
  ASSERT_TRUE(a.record_counters({&counted, 1}));
  ASSERT_TRUE(a.export_json_lines(file("a.jsonl")));
  Store b = must_open(file("b.db"));
  const auto report = b.import_json_lines(file("a.jsonl"));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->runs, 1);
  EXPECT_EQ(report->measurements, 5);
  EXPECT_EQ(report->winners, 1);
  EXPECT_EQ(report->counters, 1);
  EXPECT_EQ(report->already_there, 0);
  EXPECT_EQ(must(b.all_counters()).at(0).values, counted.values);
  ASSERT_TRUE(b.export_json_lines(file("b.jsonl")));
  EXPECT_EQ(*read_file(file("a.jsonl")), *read_file(file("b.jsonl")));
  // Again: nothing new.
  const auto again = b.import_json_lines(file("a.jsonl"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->measurements, 0);
  EXPECT_EQ(again->counters, 0);
  EXPECT_EQ(again->already_there, 8);
}

TEST_F(StoreTest, AnImportDoesNotReplaceWhatWasTunedHere) {
  fill(file("theirs.db"), 2);
  ASSERT_TRUE(must_open(file("theirs.db")).export_json_lines(file("theirs.jsonl")));
  Store ours = must_open(file("ours.db"));
  ASSERT_TRUE(ours.set_winner(kH200, winner_of(problem_of(64), "ours", "r"), {"selected", 1, 1}));
  ASSERT_TRUE(ours.import_json_lines(file("theirs.jsonl")));
  EXPECT_EQ((*ours.winner(kH200, problem_of(64)))->config, "ours");
}

class ImportTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    fill(file("a.db"), 2);
    ASSERT_TRUE(must_open(file("a.db")).export_json_lines(file("a.jsonl")));
    text_ = *read_file(file("a.jsonl"));
  }

  // The error of importing a changed export; nothing of it may have entered the store.
  std::string error_of(const std::string& text) {
    EXPECT_TRUE(write_file_atomic(file("bad.jsonl"), text));
    Store store = must_open(file("b.db"));
    const auto report = store.import_json_lines(file("bad.jsonl"));
    if (report) {
      ADD_FAILURE() << "imported:\n" << text;
      return {};
    }
    EXPECT_EQ(report.error().code, ErrorCode::kBadInput);
    EXPECT_TRUE(store.runs()->empty());
    EXPECT_TRUE(store.all_measurements()->empty());
    const std::string where = file("bad.jsonl").string();
    EXPECT_EQ(report.error().what.find(where), 0U) << report.error().what;
    return report.error().what.substr(where.size());
  }

  std::string changed(const std::string& from, const std::string& to) const {
    std::string text = text_;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  std::string text_;
};

TEST_F(ImportTest, NamesTheLineAndTheFault) {
  EXPECT_EQ(error_of(""), ": empty, expected a gemmsmith-store export");
  EXPECT_EQ(error_of(changed("gemmsmith-store", "other")),
            ":1: format: expected \"gemmsmith-store\"");
  EXPECT_EQ(error_of(changed("\"version\":2", "\"version\":9")),
            ":1: version: 9 is newer than this gemmsmith reads (2)");
  EXPECT_EQ(error_of(changed("\"kind\":\"kernel\"", "\"kind\":\"kernal\"")),
            ":3: kind: unknown kind 'kernal': expected kernel, vendor, cublas, cublas_autotune, "
            "lt_first, lt_tuned");
  EXPECT_EQ(error_of(changed("\"median_us\":3.14159", "\"median_us\":-1.5")),
            ":3: median_us: -1.5 is negative, expected 0 or more");
  EXPECT_EQ(error_of(changed("\"median_us\":3.14159", "\"median_us\":0")),
            ":3: median_us: a status of ok needs a time above 0");
  EXPECT_EQ(error_of(changed("\"seed\":7", "\"seed\":7e77")),
            ":2: seed: 7e+77 is not a whole number from 0 to 18446744073709551615");
  EXPECT_EQ(error_of(changed("\"protocol\":1", "\"protocol\":-1")),
            ":2: protocol: -1 is not a whole number from 0 to 2147483647");
  EXPECT_EQ(error_of(changed("\"row\":\"run\"", "\"row\":\"ruin\"")),
            ":2: row: unknown 'ruin', expected run, measurement, winner or counters");
  EXPECT_EQ(error_of(changed("\"median_us\":3.14159", "\"median_us\":\"fast\"")),
            ":3: median_us: expected a number, found string");
  EXPECT_EQ(error_of(changed("\"median_us\"", "\"medium_us\"")), ":3: median_us: missing");
  EXPECT_EQ(error_of(changed("\"id\":\"r1\"", "\"id\":1")), ":2: id: expected a string, found 1");
  EXPECT_EQ(error_of(changed("\"environment\":{", "\"environment\":0,\"e\":{")),
            ":2: environment: expected an object, found 0");
  EXPECT_EQ(error_of(changed("\"repeats_us\":[", "\"repeats_us\":[null,")),
            ":3: repeats_us: expected a number, found null");
  EXPECT_EQ(error_of("[]\n"), ":1: expected a JSON object, found array");
  EXPECT_NE(
      error_of(text_.substr(0, text_.size() / 2)).find(": not JSON: wrong or cut off at byte "),
      std::string::npos);
  EXPECT_EQ(error_of(changed("\"id\":\"r1\"", "\"id\":\"r2\"")),
            ": a measurement of 64_64_64 f16/f32 tn names run 'r1', which has no line");
}

TEST_F(ImportTest, RefusesVersionsThatNeverWere) {
  EXPECT_EQ(error_of(changed("\"version\":2", "\"version\":0")), ":1: version: 0, expected 1 to 2");
  for (const char* bad : {"-1", "1.5", "true", "\"2\""})
    EXPECT_EQ(error_of(changed("\"version\":2", std::string("\"version\":") + bad)),
              std::string(":1: version: ") + bad +
                  " is not a whole number from 0 to 18446744073709551615");
}

// What followed a NUL byte was ignored, and of a key given twice the last counted.
TEST_F(ImportTest, RefusesWhatALenientReaderDrops) {
  EXPECT_EQ(error_of(changed("\"status\":\"ok\"", "\"status\":\"ok\",\"median_us\":1")),
            ":3: the key 'median_us' is given twice");
  const std::size_t end = text_.find('\n', text_.find("\"measurement\""));
  EXPECT_EQ(error_of(std::string(text_).insert(end, std::string("\0x", 2)))
                .rfind(":3: a NUL byte at byte ", 0),
            0U);
}

// Exports of the first version are what they were, without rows of counters.
TEST_F(ImportTest, ReadsTheFirstVersion) {
  ASSERT_TRUE(write_file_atomic(file("old.jsonl"), changed("\"version\":2", "\"version\":1")));
  Store store = must_open(file("b.db"));
  EXPECT_EQ(must(store.import_json_lines(file("old.jsonl"))).measurements, 2);
}

TEST_F(ImportTest, RefusesCountersThatCannotBe) {
  {
    Store store = must_open(file("a.db"));
    const StoredCounters row = counters_of(problem_of(64), kWinnerConfig, "r1");
    ASSERT_TRUE(store.record_counters({&row, 1}));
    ASSERT_TRUE(store.export_json_lines(file("a.jsonl")));
    text_ = *read_file(file("a.jsonl"));
  }
  EXPECT_EQ(error_of(changed("\"ipc\":1.125", "\"ipc\":-1")),
            ":6: counters: ipc: -1 is not a number of 0 or more");
  EXPECT_EQ(error_of(changed("\"ipc\":1.125", "\"ipc\":\"two\"")),
            ":6: counters: ipc: \"two\" is not a number of 0 or more");
  EXPECT_EQ(error_of(changed("\"passes\":2", "\"passes\":1.5")),
            ":6: passes: 1.5 is not a whole number from 0 to 2147483647");
  const std::size_t last = text_.rfind("\"kind\":\"kernel\"");
  EXPECT_EQ(error_of(std::string(text_).replace(last, 15, "\"kind\":\"cublas\"")),
            ":6: kind: counters are of a kernel or vendor config, not of cublas");
  const std::size_t run = text_.rfind("\"run\":\"r1\"");
  EXPECT_EQ(error_of(std::string(text_).replace(run, 10, "\"run\":\"r9\"")),
            ": a row of counters of 64_64_64 f16/f32 tn names run 'r9', which has no line");
}

TEST_F(ImportTest, RefusesAWinnerWhoseConfigMeansNothing) {
  const auto with = [&](const std::string& config, const char* source = "kernel") {
    std::string text =
        changed("\"source\":\"kernel\"", std::string("\"source\":\"") + source + "\"");
    const std::string old = "\"config\":\"" + kWinnerConfig + "\"";
    const std::size_t winner = text.rfind(old);
    EXPECT_NE(winner, std::string::npos);
    return text.replace(winner, old.size(), "\"config\":\"" + config + "\"");
  };
  // Line 5: header, run, two measurements, winner.
  EXPECT_EQ(error_of(with("sm90_wz:n1")),
            ":5: config 'sm90_wz:n1': no family or preset of that name; the families are sm90_ws, "
            "sm80_mma, cublaslt");
  EXPECT_EQ(error_of(with("sm90_ws:q1"))
                .rfind(":5: config 'sm90_ws:q1': 'q1' is no parameter of sm90_ws; it has t (", 0),
            0U);
  EXPECT_EQ(error_of(with("")),
            ":5: config '': no family or preset of that name; the families are sm90_ws, sm80_mma, "
            "cublaslt");
  EXPECT_EQ(error_of(with("cublaslt:a66")),
            ":5: config: cublaslt:a66 is of another family than source 'kernel' says");
  EXPECT_EQ(error_of(with("sm90_ws:n1", "vendor")),
            ":5: config: sm90_ws:n1 is of another family than source 'vendor' says");
  EXPECT_EQ(error_of(with("sm90_ws:n1", "lt_tuned")),
            ":5: config: sm90_ws:n1 is of another family than source 'lt_tuned' says");
  EXPECT_EQ(
      error_of(with("sm90_ws:w2.m128.n256.s99")),
      ":5: config: sm90_ws:w2.m128.n256.s99 is not legal for 64_64_64 f16/f32 tn: a parameter "
      "is below or above all values that the family offers (values_in_range)");
}

TEST_F(ImportTest, StopsWhenTheUserAsks) {
  ASSERT_TRUE(write_file_atomic(file("good.jsonl"), text_));
  Store store = must_open(file("new.db"));
  set_interrupted(true);
  const auto imported = store.import_json_lines(file("good.jsonl"));
  const auto exported = store.export_json_lines(file("out.jsonl"));
  const auto recorded = store.export_recording(kH200, file("out.csv"));
  set_interrupted(false);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, ErrorCode::kInterrupted);
  EXPECT_TRUE(store.runs()->empty());
  EXPECT_EQ(exported.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(recorded.error().code, ErrorCode::kInterrupted);
  EXPECT_FALSE(std::filesystem::exists(file("out.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(file("out.csv")));
}

// Where nothing won, the library's own choice may have no text.
TEST_F(ImportTest, TakesEverySourceWithAConfigOfItsOwn) {
  for (const auto& [source, config] :
       {std::pair("kernel", kWinnerConfig.c_str()), std::pair("vendor", "cublaslt:a66.t20"),
        std::pair("lt_tuned", "cublaslt:a66.t20"), std::pair("lt_tuned", "")}) {
    std::string text =
        changed("\"source\":\"kernel\"", std::string("\"source\":\"") + source + "\"");
    const std::string old = "\"config\":\"" + kWinnerConfig + "\"";
    text.replace(text.rfind(old), old.size(), std::string("\"config\":\"") + config + "\"");
    ASSERT_TRUE(write_file_atomic(file("good.jsonl"), text));
    Store store = must_open(file(std::string(source) + config + ".db"));
    const auto report = store.import_json_lines(file("good.jsonl"));
    ASSERT_TRUE(report) << report.error().what;
    EXPECT_EQ(report->winners, 1);
  }
}

// x.csv and x.csv.zst have one sidecar: writing the one took away what the other was measured on.
TEST_F(StoreTest, ARecordingTakesNoOthersSidecar) {
  fill(file(), 2);
  const Store store = must_open(file(), Store::Mode::kReadOnly);
  for (const auto& [first, second] :
       {std::pair("x.csv.zst", "x.csv"), std::pair("y.csv", "y.csv.zst")}) {
    ASSERT_TRUE(store.export_recording(kH200, file(first)));
    const auto refused = store.export_recording(kH200, file(second));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(refused.error().what,
              "recording " + file(second).string() + ": its sidecar would replace " +
                  sidecar_path(file(first)).string() + ", which is that of " +
                  file(first).string() + "; choose another name or move that recording away");
    EXPECT_FALSE(std::filesystem::exists(file(second)));
    EXPECT_TRUE(store.export_recording(kH200, file(first))) << "its own may be replaced";
  }
}

TEST_F(StoreTest, ARecordingWhoseSidecarCannotBeWrittenIsNotWritten) {
  fill(file(), 2);
  const Store store = must_open(file(), Store::Mode::kReadOnly);
  std::filesystem::create_directories(file("x.json"));
  EXPECT_FALSE(store.export_recording(kH200, file("x.csv")));
  EXPECT_FALSE(write_recording(file("x.csv"), {}, "{}"));
  EXPECT_FALSE(std::filesystem::exists(file("x.csv")));
}

// x.csv's sidecar is x.json, which may be anything of the user's.
TEST_F(StoreTest, ARecordingReplacesNoFileButItsOwnSidecar) {
  fill(file(), 1);
  Store store = must_open(file());
  ASSERT_TRUE(write_file_atomic(file("x.json"), R"({"mine":1})"));
  const auto refused = store.export_recording(kH200, file("x.csv"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(refused.error().what, "recording " + file("x.csv").string() +
                                      ": its sidecar would replace " + file("x.json").string() +
                                      ", which is not a recording's; choose another name or move "
                                      "that file away");
  EXPECT_EQ(*read_file(file("x.json")), R"({"mine":1})");
  EXPECT_FALSE(std::filesystem::exists(file("x.csv")));
  ASSERT_TRUE(store.export_recording(kH200, file("y.csv")));
  EXPECT_TRUE(store.export_recording(kH200, file("y.csv"))) << "its own may be replaced";
}

DeviceInfo h200_info() {
  DeviceInfo info;
  info.target = *known_target("h200");
  info.driver_version = "580.159.04";
  info.cuda_version = 13000;
  info.cublas_version = "13.1.0";
  info.compiler_version = "nvrtc 13.0";
  return info;
}

TEST_F(StoreTest, ExportsARecordingWithItsSidecar) {
  fill(file(), 4);
  Store store = must_open(file());
  const auto path = file("h200.csv.zst");
  const auto exported = store.export_recording(kH200, path);
  ASSERT_TRUE(exported) << exported.error().what;
  const auto rows = read_recording(path);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ(rows->at(0).config, "sm90_ws:n0");
  const auto sidecar = nlohmann::json::parse(*read_sidecar(path));
  EXPECT_EQ(sidecar["fingerprint"], kH200.fingerprint);
  EXPECT_EQ(sidecar["runs"]["r1"]["conditions"]["clock_mhz"], 1980);

  // What was exported can be replayed once a run has said which device measured.
  EXPECT_FALSE(RecordedDevice::open(path));
  ASSERT_TRUE(store.update_conditions(
      "r1", R"({"clock_mhz":1980,"device":)" + device_to_json(h200_info()) + "}"));
  ASSERT_TRUE(store.export_recording(kH200, path));
  const auto device = RecordedDevice::open(path);
  ASSERT_TRUE(device) << device.error().what;
  EXPECT_EQ(device->info().target.name, "NVIDIA H200");
  EXPECT_EQ(device->problems().size(), 1U);

  const auto nothing = store.export_recording({"nobody's GPU", 1}, path);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().what,
            "store " + file().string() + ": holds no measurement of nobody's GPU (protocol 1)");
}

}  // namespace
}  // namespace gemmsmith
