// Models by their names on Hugging Face's hub, in a cache laid out as huggingface_hub 1.x does it.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "relucent/error.h"
#include "relucent/model/checkpoint.h"
#include "relucent/model/cross_encoder.h"
#include "tests/support/environment.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_checkpoint.h"

namespace relucent::testing {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'a'), kOtherCommit = std::string(39, 'b') + "0";

class HubCache : public ::testing::Test {
 protected:
  /// Adds a snapshot: links to files named after their contents.
  void add(const std::string& commit, const TinyCheckpoint& checkpoint = TinyCheckpoint()) const {
    const fs::path plain = temporary_ / commit;
    checkpoint.write(plain);
    fs::create_directories(model() / "blobs");
    fs::create_directories(snapshot(commit));
    for (const auto& entry : fs::directory_iterator(plain)) {
      const std::string name = entry.path().filename().string(), blob = commit.substr(0, 8) + name;
      fs::rename(entry.path(), model() / "blobs" / blob);
      fs::create_symlink(fs::path("../../blobs") / blob, snapshot(commit) / name);
    }
  }
  void refer(const fs::path& revision, const std::string& commit) const {
    fs::create_directories((model() / "refs" / revision).parent_path());
    std::ofstream(model() / "refs" / revision) << commit;
  }

  fs::path model() const { return temporary_ / "hub" / "models--some-org--a.model_2"; }
  fs::path snapshot(const std::string& commit) const { return model() / "snapshots" / commit; }

  TemporaryFolder temporary_;
  Environment cache_{"HF_HUB_CACHE", (temporary_ / "hub").string()};
};

TEST_F(HubCache, ANameIsAsGoodAsAFolder) {
  add(kCommit);
  refer("main", kCommit);
  EXPECT_EQ(model_folder("some-org/a.model_2"), snapshot(kCommit));
  const std::string_view texts[] = {"a text"};
  const auto score = [&](const fs::path& named) {
    return CrossEncoder::load(named)->score("a query", texts).documents.at(0).logit;
  };
  EXPECT_EQ(score("some-org/a.model_2"), score(snapshot(kCommit)));
  EXPECT_TRUE(check_checkpoint("some-org/a.model_2").problems.empty());
  EXPECT_EQ(inspect_checkpoint("some-org/a.model_2").folder, snapshot(kCommit));
  convert_checkpoint("some-org/a.model_2", temporary_ / "copy", DataType::f32);
  EXPECT_EQ(score(temporary_ / "copy"), score("some-org/a.model_2"));
}

TEST_F(HubCache, RevisionsAreBranchesTagsAndCommits) {
  add(kCommit);
  TinyCheckpoint other;
  other.config["architectures"] = {"ListformerModelForSequenceClassification"};
  add(kOtherCommit, other);
  refer("main", kOtherCommit + "\n");
  refer("v1", kCommit);
  refer("refs/pr/1", kCommit);
  const std::string name = "some-org/a.model_2";
  EXPECT_EQ(model_folder(name), snapshot(kOtherCommit));
  EXPECT_EQ(model_folder(name + "@main"), snapshot(kOtherCommit));
  EXPECT_EQ(model_folder(name + "@v1"), snapshot(kCommit));
  EXPECT_EQ(model_folder(name + "@refs/pr/1"), snapshot(kCommit));
  EXPECT_EQ(model_folder(name + "@" + kCommit), snapshot(kCommit));
  EXPECT_EQ(inspect_checkpoint(name).architecture, "ListformerModelForSequenceClassification");
  EXPECT_EQ(inspect_checkpoint(name + "@v1").architecture, "BertForSequenceClassification");
  expect_error(ErrorKind::io, {"relucent model fetch some-org/a.model_2@v2"}, [&] { model_folder(name + "@v2"); });
  expect_error(ErrorKind::io, {"@" + kOtherCommit.substr(0, 7)},
               [&] { model_folder(name + "@" + kOtherCommit.substr(0, 7)); });
}

TEST_F(HubCache, AModelThatIsNotThereIsAnErrorWithTheCommand) {
  const auto missing = [&](const std::string& name) {
    const Error error = expect_error(ErrorKind::io, {"relucent model fetch " + name, (temporary_ / "hub").string()},
                                     [&] { CrossEncoder::load(name); });
    EXPECT_EQ(error.place(), name);
  };
  missing("some-org/other");
  fs::create_directories(model() / "refs");
  missing("some-org/a.model_2");  // a download that was cut off
  refer("main", kCommit);
  missing("some-org/a.model_2");
  EXPECT_EQ(check_checkpoint("some-org/other").problems.size(), 1U);
}

TEST_F(HubCache, OtherTextsAreFolders) {
  for (const char* name : {"some-org", "a/b/c", "../a", "./a", "a/..", "/a/b", "a/b@", "a/b@../c", "a/b@/c", "a--b/c",
                           "a b/c", "-a/b", "a/b."}) {
    EXPECT_EQ(model_folder(name), name);
    expect_error(ErrorKind::io, {"does not exist"}, [&] { CrossEncoder::load(name); });
  }
  // A folder takes precedence.
  const fs::path before = fs::current_path();
  fs::create_directories(temporary_ / "some-org" / "a.model_2");
  fs::current_path(temporary_.path());
  add(kCommit);
  refer("main", kCommit);
  EXPECT_EQ(model_folder("some-org/a.model_2"), "some-org/a.model_2");
  fs::current_path(before);
}

TEST_F(HubCache, AFileThatContainsNoCommitIsRefused) {
  add(kCommit);
  for (const std::string& wrong : {std::string("../../x"), std::string(41, 'a'), std::string(), std::string(40, 'A')}) {
    refer("main", wrong);
    const Error error = expect_error(ErrorKind::invalid_data, {"commit"}, [&] { model_folder("some-org/a.model_2"); });
    EXPECT_TRUE(error.place().ends_with("refs/main")) << error.place();
  }
}

TEST_F(HubCache, IsWhereHuggingFacesProgramsHaveIt) {
  add(kCommit);
  refer("main", kCommit);
  const auto found = [] { return model_folder("some-org/a.model_2"); };
  const fs::path home = temporary_ / "home";
  fs::create_directories(home / ".cache" / "huggingface");
  fs::create_directory_symlink(temporary_ / "hub", home / ".cache" / "huggingface" / "hub");
  const Environment none("HF_HUB_CACHE", ""), no_old_name("HUGGINGFACE_HUB_CACHE", ""), no_home("HF_HOME", ""),
      no_caches("XDG_CACHE_HOME", ""), user("HOME", home.string());
  const fs::path of_user = home / ".cache/huggingface/hub/models--some-org--a.model_2/snapshots" / kCommit;
  EXPECT_EQ(found(), of_user);
  {
    const Environment stated("HF_HOME", "~/.cache/huggingface");
    EXPECT_EQ(found(), of_user);
  }
  {
    const Environment stated("XDG_CACHE_HOME", (home / ".cache").string());
    EXPECT_EQ(found(), of_user);
  }
  const Environment stated("HUGGINGFACE_HUB_CACHE", (temporary_ / "hub").string());
  EXPECT_EQ(found(), snapshot(kCommit));
}

}  // namespace
}  // namespace relucent::testing
