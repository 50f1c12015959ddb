#include "cli/run_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

extern char** environ;

namespace gemmsmith::test {
namespace {

class Folders {
 public:
  ~Folders() {
    std::error_code ignored;
    for (const std::string& folder : made_) std::filesystem::remove_all(folder, ignored);
  }
  std::string make() {
    const std::lock_guard lock(mutex_);  // programs may be run side by side
    std::string pattern = (std::filesystem::temp_directory_path() / "gemmsmith-XXXXXX").string();
    made_.emplace_back(mkdtemp(pattern.data()));
    return made_.back();
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> made_;
};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string fresh_folder() {
  static Folders folders;
  return folders.make();
}

namespace {

pid_t start_program(const std::vector<std::string>& arguments, const Variables& environment,
                    std::optional<unsigned> user, const std::string& folder) {
  const std::string out = folder + "/out";
  const std::string err = folder + "/err";
  std::map<std::string, std::string> values;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (text.rfind("GEMMSMITH_", 0) != 0 && text.rfind("XDG_", 0) != 0)
      values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  values["HOME"] = folder;
  for (const auto& [name, value] : environment) {
    if (value)
      values[name] = *value;
    else
      values.erase(name);
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : values) variables.push_back(name + "=" + value);

  const pid_t child = fork();
  if (child == 0) {
    const int out_file = open(out.c_str(), O_WRONLY | O_CREAT, 0600);
    const int err_file = open(err.c_str(), O_WRONLY | O_CREAT, 0600);
    const int in_file = open("/dev/null", O_RDONLY);
    dup2(in_file, 0);
    dup2(out_file, 1);
    dup2(err_file, 2);
    if (user && (setgid(*user) != 0 || setuid(*user) != 0)) _exit(126);
    std::vector<char*> argv = {const_cast<char*>(GEMMSMITH_PROGRAM)};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& variable : variables) envp.push_back(variable.data());
    envp.push_back(nullptr);
    execve(GEMMSMITH_PROGRAM, argv.data(), envp.data());
    _exit(127);
  }
  return child;
}

ProgramResult result_of(int status, const std::string& folder) {
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          contents(folder + "/out"), contents(folder + "/err")};
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, const Variables& environment,
                          std::optional<unsigned> user) {
  const std::string folder = fresh_folder();
  const pid_t child = start_program(arguments, environment, user, folder);
  int status = 0;
  waitpid(child, &status, 0);
  return result_of(status, folder);
}

ProgramResult run_interrupted(const std::vector<std::string>& arguments,
                              const Variables& environment,
                              const std::function<bool(const std::string& folder)>& ready) {
  const std::string folder = fresh_folder();
  const pid_t child = start_program(arguments, environment, {}, folder);
  int status = 0;
  bool told = false;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (!told && ready(folder)) {
      kill(child, SIGINT);
      told = true;
    }
    usleep(2000);
  }
  return result_of(status, folder);
}

}  // namespace gemmsmith::test
