#include <filesystem>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "index_tools/evaluation/output_file.h"
#include "index_tools/program/checkpoint_report.h"
#include "index_tools/program/commands.h"
#include "index_tools/program/flags.h"
#include "index_tools/program/pattern_drawing.h"
#include "index_tools/pytorch/convert_pytorch.h"
#include "model/families/pattern.h"
#include "relucent/config.h"
#include "relucent/kernels/devices.h"
#include "relucent/model/checkpoint.h"

namespace relucent::program {
namespace {

struct ModelOptions {
  std::string folder, from, to, device = "auto", precision = "auto", type;
  int positions = 0, trained_rows = 0, threads = 0;
  std::string shown_pattern, drawing;  // of info
  std::optional<int> window;
  bool json = false, tensors = false, devices = false;
};

std::filesystem::path chosen_folder(const ModelOptions& options) { return model_folder(options.folder); }

void print_devices(const std::vector<DeviceSummary>& devices, bool json) {
  if (json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const DeviceSummary& device : devices) {
      all.push_back({{"name", device.name},
                     {"usable", device.usable()},
                     {"description", device.description},
                     {"problem", device.problem},
                     {"remedy", device.remedy}});
    }
    std::cout << all.dump(2) << "\n";
    return;
  }
  for (const DeviceSummary& device : devices) {
    std::cout << std::left << std::setw(8) << device.name << (device.usable() ? "  usable      " : "  not usable  ")
              << (device.description.empty() ? device.problem : device.description) << "\n";
    if (!device.problem.empty() && !device.description.empty())
      std::cout << std::setw(22) << "" << device.problem << "\n";
    if (!device.remedy.empty())
      std::cout << std::setw(22) << ""
                << "remedy: " << device.remedy << "\n";
  }
}

ExitCode print_pattern(const ModelOptions& options) {
  const std::filesystem::path folder = chosen_folder(options);
  EncoderDescription description = inspect_checkpoint(folder).description;
  if (options.shown_pattern != "checkpoint") {
    const JsonFile config = JsonFile::read(folder / "config.json");
    description = with_pattern(config, parse_pattern(options.shown_pattern), options.window).description;
  } else if (options.window) {
    set_window(description, *options.window < 0 ? View{View::Kind::all} : View{View::Kind::window, *options.window});
  }
  const std::vector<PatternDrawing> drawings = draw_pattern(description);
  if (options.drawing.empty()) {
    std::cout << pattern_text(drawings);
    return ok;
  }
  index_tools::OutputFile output(options.drawing);
  output.write(pattern_svg(drawings, folder.filename().string() + ": who sees whom"));
  output.commit();
  return ok;
}

void add_info(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command = model.add_subcommand("info", "Describe a checkpoint");
  CLI::Option* folder = command->add_option(
      "DIR", options->folder,
      "Checkpoint directory, or ORG/NAME in Hugging Face's cache (default: the bundled checkpoint)");
  CLI::Option* tensors = command->add_flag("--tensors", options->tensors, "List every tensor");
  command
      ->add_flag("--device", options->devices,
                 "List the devices of this machine, and why a model cannot run on the unusable ones")
      ->excludes(folder)
      ->excludes(tensors);
  command->add_flag("--json", options->json, "Print JSON, tensors included");
  CLI::Option* pattern =
      command
          ->add_option("--pattern", options->shown_pattern,
                       "Draw who sees whom: checkpoint, its own pattern, or full, local, longformer, qds, sparse")
          ->check(CLI::IsMember({"checkpoint", "full", "local", "longformer", "qds", "sparse"}));
  command->add_option("--attention-window", options->window, "Window of the drawn pattern; -1: unlimited")
      ->needs(pattern);
  add_value(*command, "--svg FILE", options->drawing, "Write the drawing as a picture")->needs(pattern);
  command->footer(
      "Example:\n  relucent model info my-checkpoint\n  relucent model info --device\n"
      "  relucent model info my-checkpoint --pattern sparse --attention-window 2 --svg sparse.svg");
  on_selection(*command, chosen, [options] {
    if (options->devices) {
      print_devices(list_devices(), options->json);
      return ok;
    }
    if (!options->shown_pattern.empty()) return print_pattern(*options);
    const CheckpointInfo info = inspect_checkpoint(chosen_folder(*options));
    if (options->json) {
      std::cout << report_json(info).dump(2) << "\n";
    } else {
      print_report(info, options->tensors);
    }
    return ok;
  });
}

void add_check(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command =
      model.add_subcommand("check", "List every problem of a checkpoint: read all of it and run it on trial inputs");
  command->add_option("DIR", options->folder,
                      "Checkpoint directory, or ORG/NAME in Hugging Face's cache (default: the bundled checkpoint)");
  add_default(*command, "--device", options->device, "auto | ref | cpu | cuda:N | cuda");
  add_default(*command, "--precision", options->precision, "auto | fp32 | tf32 | bf16 | fp16 | int16 | int8");
  add_default(*command, "--threads", options->threads, "0: every core");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(
      "Exits with 0 only if the checkpoint can be used.\n\nExample:\n  relucent model check my-checkpoint --device "
      "cpu");
  on_selection(*command, chosen, [options] {
    BackendOptions backend;
    backend.device = parse_device(options->device);
    backend.precision = parse_precision(options->precision);
    backend.threads = options->threads;
    const CheckpointCheck check = check_checkpoint(chosen_folder(*options), backend);
    if (options->json) {
      std::cout << report_json(check).dump(2) << "\n";
    } else {
      print_report(check);
    }
    return check.problems.empty() ? ok : exit_code(check.problems.front().kind());
  });
}

void add_extend(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command =
      model.add_subcommand("extend", "Copy a checkpoint and lengthen its position table by interpolation");
  command->add_option("FROM", options->from, "Checkpoint directory, or ORG/NAME in Hugging Face's cache")->required();
  command->add_option("TO", options->to, "New directory")->required();
  command->add_option("--positions", options->positions, "Rows of the new table")
      ->required()
      ->check(CLI::PositiveNumber);
  add_default(*command, "--trained-rows", options->trained_rows, "Interpolate over the first N rows only; 0: all")
      ->check(CLI::NonNegativeNumber);
  command->footer(
      "Such a checkpoint must be trained further before it ranks well.\n\nExample:\n"
      "  relucent model extend minilm minilm-4096 --positions 4096 --trained-rows 381");
  on_selection(*command, chosen, [options] {
    extend_positions(options->from, options->to, options->positions, options->trained_rows);
    std::cout << "Wrote " << options->to << " with " << options->positions << " positions\n";
    return ok;
  });
}

/// Weights of PyTorch become safetensors first, with their own types.
void convert(const std::filesystem::path& from, const std::filesystem::path& to, std::optional<DataType> type) {
  if (!index_tools::has_pytorch_weights(from)) return convert_checkpoint(from, to, type);
  if (!type) return index_tools::convert_pytorch(from, to);
  refuse_if(std::filesystem::exists(to), to.string(), "exists", "name a new directory");
  const std::filesystem::path same = to.native() + ".as-saved";
  index_tools::convert_pytorch(from, same);
  const auto remove = [](const std::filesystem::path* path) {
    std::error_code ignored;
    std::filesystem::remove_all(*path, ignored);
  };
  const std::unique_ptr<const std::filesystem::path, decltype(remove)> removed(&same, remove);
  convert_checkpoint(same, to, type);
}

void add_convert(CLI::App& model, Action& chosen, const std::shared_ptr<ModelOptions>& options) {
  CLI::App* command = model.add_subcommand(
      "convert", "Copy a checkpoint into one model.safetensors, from PyTorch's format or in another data type");
  command->add_option("FROM", options->from, "Checkpoint directory, or ORG/NAME in Hugging Face's cache")->required();
  command->add_option("TO", options->to, "New directory")->required();
  command->add_option("--type", options->type, "f32 | f16 | bf16 (default: as they are)");
  command->footer(
      "Examples:\n  relucent model convert my-checkpoint my-checkpoint-f16 --type f16\n"
      "  relucent model convert my-sharded-checkpoint my-checkpoint\n"
      "  relucent model convert monobert-large-msmarco monobert   # pytorch_model.bin, read without PyTorch");
  on_selection(*command, chosen, [options] {
    std::optional<DataType> type;
    if (!options->type.empty()) type = parse_data_type(options->type);
    convert(model_folder(options->from), options->to, type);
    std::cout << "Wrote " << options->to << (type ? " as " + options->type : "") << "\n";
    return ok;
  });
}

}  // namespace

void add_model(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("model", "Inspect, check, compare, fetch, extend, convert or initialize a checkpoint");
  command->require_subcommand(1);
  command->footer("Example:\n  relucent model check");
  auto options = std::make_shared<ModelOptions>();
  add_info(*command, chosen, options);
  add_check(*command, chosen, options);
  add_model_fetch(*command, chosen);
  add_model_compare(*command, chosen);
  add_extend(*command, chosen, options);
  add_convert(*command, chosen, options);
  add_model_init(*command, chosen);
}

}  // namespace relucent::program
