/// Runs a command and makes one of its file system calls fail.
///
///   system_call_faults --under DIR [--fault NAME --call N] [--list FILE] --report FILE -- COMMAND...
///
/// Every system call of the command and of its threads and children that is not known to be about something else than
/// files stops here (seccomp, ptrace), whichever library makes it. Those that name a file below DIR, by a path or by a
/// descriptor, are counted; of those to which the fault applies, the Nth fails. The faults:
///
///   enospc   what may need space fails with ENOSPC
///   eio      the call fails with EIO
///   eintr    a call that a signal may interrupt fails with EINTR
///   short    a read or write of at least two bytes handles only a part of them
///   kill     the process is killed before the call
///
/// close() is executed and then fails, as Linux does it. The report has a line "failed N NAME PATH" if there was such a
/// call, then "calls N", the number of calls to which the fault applies. --list writes a line "NAME PATH" per call that
/// names a file below DIR. A system call that the tables below do not have ends the command, so that none is missed.
/// The exit status is the command's; 128 + the signal's number if one ended it; 70 if this program failed.
///
/// The same as a module, for a command that is a fork of its caller: see preloaded_training.py.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// Where a call names its file: an argument's index.
struct Place {
  enum Kind { descriptor, path, path_at } kind;
  int argument;  // path_at: the directory's descriptor; the path is the next argument
};

enum Trait : unsigned {
  takes_space = 1,  // may need space on the disk
  is_slow = 2,      // may be interrupted by a signal
  moves_bytes = 4,  // may handle a part of the bytes; `size` is the argument with their number
  moves_vector = 8  // the same with an array of buffers in arguments 1 and 2
};

struct Call {
  const char* name;
  std::vector<Place> places;
  unsigned traits = 0;
  int size = 2;
};

constexpr Place::Kind fd = Place::descriptor, path = Place::path, at = Place::path_at;

const std::map<long, Call> kFileCalls = {
    {SYS_read, {"read", {{fd, 0}}, is_slow | moves_bytes}},
    {SYS_pread64, {"pread", {{fd, 0}}, is_slow | moves_bytes}},
    {SYS_readv, {"readv", {{fd, 0}}, is_slow | moves_vector}},
    {SYS_preadv, {"preadv", {{fd, 0}}, is_slow}},
    {SYS_preadv2, {"preadv2", {{fd, 0}}, is_slow}},
    {SYS_write, {"write", {{fd, 0}}, takes_space | is_slow | moves_bytes}},
    {SYS_pwrite64, {"pwrite", {{fd, 0}}, takes_space | is_slow | moves_bytes}},
    {SYS_writev, {"writev", {{fd, 0}}, takes_space | is_slow | moves_vector}},
    {SYS_pwritev, {"pwritev", {{fd, 0}}, takes_space | is_slow}},
    {SYS_pwritev2, {"pwritev2", {{fd, 0}}, takes_space | is_slow}},
    {SYS_sendfile, {"sendfile", {{fd, 0}, {fd, 1}}, takes_space | is_slow | moves_bytes, 3}},
    {SYS_copy_file_range, {"copy_file_range", {{fd, 0}, {fd, 2}}, takes_space | is_slow | moves_bytes, 4}},
    {SYS_splice, {"splice", {{fd, 0}, {fd, 2}}, takes_space | is_slow | moves_bytes, 4}},
    {SYS_fsync, {"fsync", {{fd, 0}}, takes_space | is_slow}},
    {SYS_fdatasync, {"fdatasync", {{fd, 0}}, takes_space | is_slow}},
    {SYS_sync_file_range, {"sync_file_range", {{fd, 0}}, takes_space}},
    {SYS_syncfs, {"syncfs", {{fd, 0}}, takes_space}},
    {SYS_ftruncate, {"ftruncate", {{fd, 0}}, takes_space | is_slow}},
    {SYS_truncate, {"truncate", {{path, 0}}, takes_space | is_slow}},
    {SYS_fallocate, {"fallocate", {{fd, 0}}, takes_space | is_slow}},
    {SYS_close, {"close", {{fd, 0}}, is_slow}},
    {SYS_lseek, {"lseek", {{fd, 0}}}},
    {SYS_fstat, {"fstat", {{fd, 0}}}},
    {SYS_fstatfs, {"fstatfs", {{fd, 0}}}},
    {SYS_getdents, {"getdents", {{fd, 0}}}},
    {SYS_getdents64, {"getdents64", {{fd, 0}}}},
    {SYS_flock, {"flock", {{fd, 0}}, is_slow}},
    {SYS_fcntl, {"fcntl", {{fd, 0}}}},
    {SYS_fchmod, {"fchmod", {{fd, 0}}}},
    {SYS_fchown, {"fchown", {{fd, 0}}}},
    {SYS_fchdir, {"fchdir", {{fd, 0}}}},
    {SYS_fadvise64, {"fadvise64", {{fd, 0}}}},
    {SYS_readahead, {"readahead", {{fd, 0}}}},
    {SYS_ioctl, {"ioctl", {{fd, 0}}}},
    {SYS_fgetxattr, {"fgetxattr", {{fd, 0}}}},
    {SYS_mmap, {"mmap", {{fd, 4}}}},
    {SYS_open, {"open", {{path, 0}}, is_slow}},
    {SYS_creat, {"creat", {{path, 0}}, takes_space | is_slow}},
    {SYS_openat, {"openat", {{at, 0}}, is_slow}},
    {SYS_openat2, {"openat2", {{at, 0}}, is_slow}},
    {SYS_stat, {"stat", {{path, 0}}}},
    {SYS_lstat, {"lstat", {{path, 0}}}},
    {SYS_newfstatat, {"newfstatat", {{at, 0}}}},
    {SYS_statx, {"statx", {{at, 0}}}},
    {SYS_statfs, {"statfs", {{path, 0}}}},
    {SYS_access, {"access", {{path, 0}}}},
    {SYS_faccessat, {"faccessat", {{at, 0}}}},
    {SYS_faccessat2, {"faccessat2", {{at, 0}}}},
    {SYS_readlink, {"readlink", {{path, 0}}}},
    {SYS_readlinkat, {"readlinkat", {{at, 0}}}},
    {SYS_getxattr, {"getxattr", {{path, 0}}}},
    {SYS_lgetxattr, {"lgetxattr", {{path, 0}}}},
    {SYS_mkdir, {"mkdir", {{path, 0}}, takes_space}},
    {SYS_mkdirat, {"mkdirat", {{at, 0}}, takes_space}},
    {SYS_rmdir, {"rmdir", {{path, 0}}}},
    {SYS_rename, {"rename", {{path, 0}, {path, 1}}, takes_space}},
    {SYS_renameat, {"renameat", {{at, 0}, {at, 2}}, takes_space}},
    {SYS_renameat2, {"renameat2", {{at, 0}, {at, 2}}, takes_space}},
    {SYS_link, {"link", {{path, 0}, {path, 1}}, takes_space}},
    {SYS_linkat, {"linkat", {{at, 0}, {at, 2}}, takes_space}},
    {SYS_symlink, {"symlink", {{path, 1}}, takes_space}},
    {SYS_symlinkat, {"symlinkat", {{at, 1}}, takes_space}},
    {SYS_unlink, {"unlink", {{path, 0}}}},
    {SYS_unlinkat, {"unlinkat", {{at, 0}}}},
    {SYS_chmod, {"chmod", {{path, 0}}}},
    {SYS_fchmodat, {"fchmodat", {{at, 0}}}},
    {SYS_chown, {"chown", {{path, 0}}}},
    {SYS_lchown, {"lchown", {{path, 0}}}},
    {SYS_fchownat, {"fchownat", {{at, 0}}}},
    {SYS_utime, {"utime", {{path, 0}}}},
    {SYS_utimes, {"utimes", {{path, 0}}}},
    {SYS_utimensat, {"utimensat", {{at, 0}}}},
    {SYS_chdir, {"chdir", {{path, 0}}}},
    {SYS_mknod, {"mknod", {{path, 0}}, takes_space}},
    {SYS_mknodat, {"mknodat", {{at, 0}}, takes_space}},
};

/// Calls that are not about a file, or that start a program.
constexpr long kOtherCalls[] = {
    SYS_mprotect,
    SYS_munmap,
    SYS_brk,
    SYS_mremap,
    SYS_madvise,
    SYS_mincore,
    SYS_msync,
    SYS_mlock,
    SYS_munlock,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigtimedwait,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_sigaltstack,
    SYS_pause,
    SYS_alarm,
    SYS_setitimer,
    SYS_getitimer,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_time,
    SYS_times,
    SYS_getpid,
    SYS_gettid,
    SYS_getppid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getpgrp,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_getgroups,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrusage,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_prlimit64,
    SYS_arch_prctl,
    SYS_prctl,
    SYS_set_tid_address,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_rseq,
    SYS_futex,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_setscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getpriority,
    SYS_setpriority,
    SYS_getcpu,
    SYS_membarrier,
    SYS_get_mempolicy,
    SYS_set_mempolicy,
    SYS_mbind,
    SYS_clone,
    SYS_clone3,
    SYS_fork,
    SYS_vfork,
    SYS_execve,
    SYS_wait4,
    SYS_waitid,
    SYS_exit,
    SYS_exit_group,
    SYS_kill,
    SYS_tgkill,
    SYS_tkill,
    SYS_getrandom,
    SYS_getcwd,
    SYS_umask,
    SYS_pipe,
    SYS_pipe2,
    SYS_dup,
    SYS_dup2,
    SYS_dup3,
    SYS_poll,
    SYS_ppoll,
    SYS_select,
    SYS_pselect6,
    SYS_epoll_create,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_wait,
    SYS_epoll_pwait,
    SYS_eventfd,
    SYS_eventfd2,
    SYS_signalfd4,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_inotify_init1,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_accept,
    SYS_accept4,
    SYS_bind,
    SYS_listen,
    SYS_getsockname,
    SYS_getpeername,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_sendmmsg,
    SYS_recvmmsg,
    SYS_shutdown,
    SYS_restart_syscall,
    SYS_memfd_create,
    SYS_close_range,
    SYS_seccomp,
    SYS_capget,
    SYS_capset,
    SYS_shmget,
    SYS_shmat,
    SYS_shmdt,
    SYS_shmctl,
    SYS_mlock2,
    SYS_pkey_alloc,
    SYS_pkey_mprotect,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_delete,
    SYS_landlock_create_ruleset,
    SYS_landlock_add_rule,
    SYS_landlock_restrict_self,
    SYS_ptrace,
    SYS_setgid,
    SYS_setuid,
    SYS_setgroups,
    SYS_setresuid,
    SYS_setresgid,
    SYS_unshare,
    SYS_personality,
};

[[noreturn]] void fail(const std::string& what) {
  std::cerr << "system_call_faults: " << what << "\n";
  std::exit(70);
}

struct Options {
  std::string under, fault, report, list;
  long call = 0;
  std::vector<char*> command;
};

Options read_options(int count, char** arguments) {
  Options options;
  int i = 1;
  for (; i + 1 < count && std::string(arguments[i]) != "--"; i += 2) {
    const std::string name = arguments[i], value = arguments[i + 1];
    if (name == "--under") {
      options.under = fs::canonical(value).string();
    } else if (name == "--fault") {
      options.fault = value;
    } else if (name == "--call") {
      options.call = std::stol(value);
    } else if (name == "--report") {
      options.report = value;
    } else if (name == "--list") {
      options.list = value;
    } else {
      fail("unknown option " + name);
    }
  }
  for (++i; i < count; ++i) options.command.push_back(arguments[i]);
  if (options.under.empty() || options.report.empty()) fail("see the head of the source");
  if (!std::set<std::string>{"", "enospc", "eio", "eintr", "short", "kill"}.contains(options.fault)) {
    fail("unknown fault " + options.fault);
  }
  return options;
}

/// Stops at every call that is not in kOtherCalls.
void install_filter() {
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : kOtherCalls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    std::perror("seccomp");
    ::_exit(70);
  }
}

/// Stops the calling process until its parent follows it.
void be_traced() {
  ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  ::raise(SIGSTOP);
  install_filter();
}

class Tracer {
 public:
  explicit Tracer(const Options& options) : options_(options) {
    if (!options.list.empty()) list_.open(options.list);
  }

  /// `child` has called be_traced(). The status that it ended with.
  int follow(pid_t child) {
    child_ = child;
    int status = 0;
    if (::waitpid(child_, &status, 0) != child_ || !WIFSTOPPED(status)) fail("the child did not stop");
    const long wanted = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                        PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    if (::ptrace(PTRACE_SETOPTIONS, child_, nullptr, wanted) != 0) fail("ptrace: " + std::string(strerror(errno)));
    resume(child_, 0);
    const int ended = follow_calls();
    std::ofstream report(options_.report);
    report << failed_ << "calls " << counted_ << "\n";
    if (!report.flush()) fail("cannot write " + options_.report);
    return ended;
  }

 private:
  void resume(pid_t thread, int signal) {
    const auto request = at_exit_.contains(thread) ? PTRACE_SYSCALL : PTRACE_CONT;
    ::ptrace(request, thread, nullptr, signal);  // a killed thread is reported by wait
  }

  int follow_calls() {
    int result = 70, status = 0;
    for (pid_t thread; (thread = ::waitpid(-1, &status, __WALL)) > 0;) {
      if (!WIFSTOPPED(status)) {
        if (thread == child_) result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        continue;
      }
      const int signal = WSTOPSIG(status), event = status >> 16;
      if (event == PTRACE_EVENT_SECCOMP) {
        enter(thread);
        resume(thread, 0);
      } else if (signal == (SIGTRAP | 0x80)) {
        leave(thread);
        resume(thread, 0);
      } else if (event != 0) {
        resume(thread, 0);
      } else if (signal == SIGSTOP && seen_.insert(thread).second) {
        resume(thread, 0);  // how a new thread or process starts
      } else {
        resume(thread, signal);
      }
    }
    return result;
  }

  static std::uint64_t argument(const user_regs_struct& registers, int index) {
    const std::uint64_t values[] = {registers.rdi, registers.rsi, registers.rdx,
                                    registers.r10, registers.r8,  registers.r9};
    return values[index];
  }

  static std::string text_at(pid_t thread, std::uint64_t address) {
    std::string text;
    while (text.size() < 4096) {
      char piece[64];
      const std::size_t wanted = std::min<std::size_t>(sizeof piece, 4096 - (address & 4095));
      iovec mine = {piece, wanted}, theirs = {reinterpret_cast<void*>(address), wanted};
      if (::process_vm_readv(thread, &mine, 1, &theirs, 1, 0) <= 0) break;
      const std::size_t length = ::strnlen(piece, wanted);
      text.append(piece, length);
      if (length < wanted) break;
      address += wanted;
    }
    return text;
  }

  static std::string link_of(pid_t thread, const std::string& name) {
    std::error_code error;
    std::string target = fs::read_symlink("/proc/" + std::to_string(thread) + "/" + name, error).string();
    const std::string gone = " (deleted)";
    if (target.ends_with(gone)) target.resize(target.size() - gone.size());
    return target;
  }

  static std::string path_of(pid_t thread, const user_regs_struct& registers, const Place& place) {
    const auto number = static_cast<int>(argument(registers, place.argument));
    const auto folder_of = [&](int descriptor) {
      return descriptor == AT_FDCWD ? link_of(thread, "cwd") : link_of(thread, "fd/" + std::to_string(descriptor));
    };
    if (place.kind == Place::descriptor) return number < 0 ? "" : link_of(thread, "fd/" + std::to_string(number));
    const bool has_folder = place.kind == Place::path_at;
    const std::string given = text_at(thread, argument(registers, place.argument + (has_folder ? 1 : 0)));
    if (given.starts_with("/")) return fs::path(given).lexically_normal().string();
    const std::string folder = folder_of(has_folder ? number : AT_FDCWD);
    return given.empty() ? folder : (fs::path(folder) / given).lexically_normal().string();
  }

  /// The file below the directory that the call names.
  std::optional<std::string> file_of(pid_t thread, const user_regs_struct& registers, const Call& call) const {
    if (registers.orig_rax == SYS_mmap && (registers.r10 & MAP_ANONYMOUS) != 0) return {};
    for (const Place& place : call.places) {
      const std::string file = path_of(thread, registers, place);
      if (file == options_.under || file.starts_with(options_.under + "/")) return file;
    }
    return {};
  }

  static bool opens_for_writing(const user_regs_struct& registers) {
    if (registers.orig_rax == SYS_open) return (registers.rsi & O_CREAT) != 0;
    return registers.orig_rax == SYS_openat && (registers.rdx & O_CREAT) != 0;
  }

  bool applies(pid_t thread, const user_regs_struct& registers, const Call& call) const {
    const auto has = [&](unsigned trait) { return (call.traits & trait) != 0; };
    if (options_.fault == "enospc") return has(takes_space) || opens_for_writing(registers);
    if (options_.fault == "eintr") {
      const bool waits =
          registers.orig_rax == SYS_fcntl && (registers.rsi == F_SETLKW || registers.rsi == F_OFD_SETLKW);
      return has(is_slow) || waits;
    }
    if (options_.fault == "short") {
      if (has(moves_bytes)) return argument(registers, call.size) > 1;
      return has(moves_vector) && first_buffer(thread, registers).iov_len > 1;
    }
    return true;
  }

  static iovec first_buffer(pid_t thread, const user_regs_struct& registers) {
    std::vector<iovec> buffers(std::min<std::uint64_t>(registers.rdx, 16));
    iovec mine = {buffers.data(), buffers.size() * sizeof(iovec)};
    iovec theirs = {reinterpret_cast<void*>(registers.rsi), mine.iov_len};
    if (buffers.empty() || ::process_vm_readv(thread, &mine, 1, &theirs, 1, 0) < 0) return {};
    const auto found = std::ranges::find_if(buffers, [](const iovec& buffer) { return buffer.iov_len > 0; });
    return found == buffers.end() ? iovec{} : *found;
  }

  void enter(pid_t thread) {
    user_regs_struct registers = {};
    if (::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;
    const auto found = kFileCalls.find(static_cast<long>(registers.orig_rax));
    if (found == kFileCalls.end()) {
      std::cerr << "system_call_faults: system call " << registers.orig_rax << " is in no table\n";
      ::kill(child_, SIGKILL);
      return;
    }
    const Call& call = found->second;
    const std::optional<std::string> file = file_of(thread, registers, call);
    if (!file) return;
    if (list_.is_open()) list_ << call.name << " " << *file << std::endl;
    if (options_.fault.empty() || !applies(thread, registers, call) || ++counted_ != options_.call) return;
    failed_ = "failed " + std::to_string(counted_) + " " + call.name + " " + *file + "\n";
    if (options_.fault == "kill") {
      ::kill(child_, SIGKILL);
    } else if (options_.fault == "short") {
      shorten(thread, registers, call);
    } else if (registers.orig_rax == SYS_close) {
      at_exit_[thread] = {registers, true};
    } else {
      registers.orig_rax = static_cast<std::uint64_t>(-1);  // the kernel skips the call
      registers.rax = static_cast<std::uint64_t>(-error());
      ::ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
    }
  }

  int error() const { return options_.fault == "enospc" ? ENOSPC : options_.fault == "eio" ? EIO : EINTR; }

  void shorten(pid_t thread, user_regs_struct registers, const Call& call) {
    at_exit_[thread] = {registers, false};
    if ((call.traits & moves_vector) != 0) {
      const iovec buffer = first_buffer(thread, registers);
      registers.orig_rax = registers.orig_rax == SYS_writev ? SYS_write : SYS_read;
      registers.rsi = reinterpret_cast<std::uint64_t>(buffer.iov_base);
      registers.rdx = buffer.iov_len / 2;
    } else {
      // A read gets one byte, because most ask for more than the file has.
      const bool reads = registers.orig_rax == SYS_read || registers.orig_rax == SYS_pread64;
      const std::uint64_t part = reads ? 1 : argument(registers, call.size) / 2;
      (call.size == 2 ? registers.rdx : call.size == 3 ? registers.r10 : registers.r8) = part;
    }
    ::ptrace(PTRACE_SETREGS, thread, nullptr, &registers);
  }

  /// After the call: its result, with the arguments that the program passed.
  void leave(pid_t thread) {
    const auto found = at_exit_.find(thread);
    user_regs_struct registers = {};
    if (found == at_exit_.end() || ::ptrace(PTRACE_GETREGS, thread, nullptr, &registers) != 0) return;
    user_regs_struct before = found->second.before;
    before.rax = found->second.fails ? static_cast<std::uint64_t>(-error()) : registers.rax;
    before.rcx = registers.rcx;
    before.r11 = registers.r11;
    before.rip = registers.rip;
    before.eflags = registers.eflags;
    ::ptrace(PTRACE_SETREGS, thread, nullptr, &before);
    at_exit_.erase(found);
  }

  struct Exit {
    user_regs_struct before;
    bool fails;
  };

  const Options& options_;
  std::ofstream list_;
  pid_t child_ = 0;
  std::set<pid_t> seen_;
  std::map<pid_t, Exit> at_exit_;
  long counted_ = 0;
  std::string failed_;
};

}  // namespace

extern "C" [[gnu::visibility("default")]] void system_call_faults_be_traced() { be_traced(); }

extern "C" [[gnu::visibility("default")]] int system_call_faults_follow(int count, char** arguments, pid_t child) {
  const Options options = read_options(count, arguments);
  return Tracer(options).follow(child);
}

int main(int count, char** arguments) {
  Options options = read_options(count, arguments);
  if (options.command.empty()) fail("see the head of the source");
  options.command.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) fail("fork: " + std::string(std::strerror(errno)));
  if (child == 0) {
    be_traced();
    ::execvp(options.command[0], options.command.data());
    std::perror(options.command[0]);
    ::_exit(70);
  }
  return Tracer(options).follow(child);
}
