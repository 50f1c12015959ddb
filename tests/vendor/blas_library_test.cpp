#include "vendor/blas_library.h"

#include "fake_fixture.h"

namespace gemmsmith::vendor {
namespace {

TEST(BlasLibrary, VersionIsReadFromTheLibrarysNumber) {
  EXPECT_EQ(version_text(130100), "13.1.0");
  EXPECT_EQ(version_text(120805), "12.8.5");
  EXPECT_EQ(version_text(111103), "11.11.3");
}

TEST(BlasLibrary, MissingFileIsNamedWithWhatToDo) {
  const ScopedEnv file("GEMMSMITH_CUBLASLT", "/nowhere/libcublasLt.so");
  const auto library = BlasLibrary::open();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(library.error().what,
            "cannot load cuBLASLt: looked for /nowhere/libcublasLt.so; install cuBLAS 12 or 13, or "
            "name the file in GEMMSMITH_CUBLASLT");
}

TEST(BlasLibrary, FileThatIsNoCublasLtIsRefusedByTheSymbolItLacks) {
  const ScopedEnv file("GEMMSMITH_CUBLASLT", "libm.so.6");
  const auto library = BlasLibrary::open();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(library.error().what,
            "libm.so.6 has no cublasLtGetVersion: it is too old; install cuBLAS 12 or 13, or name "
            "the file in GEMMSMITH_CUBLASLT");
}

TEST(BlasLibrary, StatusesAreNamed) {
  EXPECT_EQ(describe(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED (15)");
  EXPECT_EQ(describe(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS (0)");
}

class BlasLibraryFake : public FakeLibraryTest {};

TEST_F(BlasLibraryFake, OpensTheNamedFile) {
  const auto library = BlasLibrary::open();
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ((*library)->version(), "13.1.0");
  EXPECT_EQ((*library)->path(), GEMMSMITH_FAKE_CUBLASLT);
}

TEST_F(BlasLibraryFake, HandleWithoutADeviceSaysWhatIsNeeded) {
  fake().create_status = CUBLAS_STATUS_NOT_INITIALIZED;
  const auto library = BlasLibrary::open();
  ASSERT_TRUE(library) << library.error().what;
  const auto handle = LtHandle::create(*library);
  ASSERT_FALSE(handle);
  EXPECT_EQ(handle.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(handle.error().what,
            fmt::format("cannot start cuBLASLt 13.1.0 ({}): CUBLAS_STATUS_NOT_INITIALIZED (1); it "
                        "needs a current CUDA context and a driver as new as itself",
                        GEMMSMITH_FAKE_CUBLASLT));
}

}  // namespace
}  // namespace gemmsmith::vendor
