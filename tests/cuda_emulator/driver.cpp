// The CUDA driver's functions of contexts.
#include <algorithm>

#include "tests/cuda_emulator/devices.h"
#include "tests/cuda_emulator/include/cuda.h"

using namespace relucent::emulator;

namespace {

CUresult failure(const Call& call) { return static_cast<CUresult>(call.error()); }

bool exists(CUdevice device) { return device >= 0 && device < static_cast<int>(the_devices().all.size()); }

Device& of(CUdevice device) { return *the_devices().all[static_cast<std::size_t>(device)]; }

/// Whether a context can be worked with: a host's that is alive, or a primary one that somebody retains.
bool usable(CUcontext context) {
  Devices& devices = the_devices();
  if (devices.contexts.contains(context)) {
    return true;
  }
  return std::any_of(devices.all.begin(), devices.all.end(),
                     [&](const auto& device) { return &device->primary == context && device->retained > 0; });
}

}  // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  const Call call("cuDeviceGet", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  if (!exists(ordinal)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* active) {
  const Call call("cuDevicePrimaryCtxGetState", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  if (!exists(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *flags = 0;
  *active = of(device).retained > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const Call call("cuDevicePrimaryCtxRetain", CUDA_ERROR_OUT_OF_MEMORY);
  if (call.failed()) {
    return failure(call);
  }
  if (!exists(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  ++of(device).retained;
  of(device).was_opened = true;
  *context = &of(device).primary;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  const Call call("cuDevicePrimaryCtxRelease", CUDA_ERROR_UNKNOWN);
  if (!exists(device) || of(device).retained == 0) {
    return call.failed() ? failure(call) : CUDA_ERROR_INVALID_CONTEXT;
  }
  --of(device).retained;
  return failure(call);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  const Call call("cuDevicePrimaryCtxReset", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  if (!exists(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  of(device).retained = 0;
  of(device).runtime_retains = false;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned int, CUdevice device) {
  const Call call("cuCtxCreate", CUDA_ERROR_OUT_OF_MEMORY);
  if (call.failed()) {
    return failure(call);
  }
  if (!exists(device)) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *context = new CUctx_st{device, false};
  the_devices().contexts.insert(*context);
  the_contexts().push_back(*context);
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext context) {
  const Call call("cuCtxDestroy", CUDA_ERROR_UNKNOWN);
  if (the_devices().contexts.erase(context) == 0) {
    return call.failed() ? failure(call) : CUDA_ERROR_INVALID_CONTEXT;
  }
  if (!the_contexts().empty() && the_contexts().back() == context) {
    the_contexts().pop_back();
  }
  delete context;
  return failure(call);
}

CUresult cuCtxPushCurrent(CUcontext context) {
  const Call call("cuCtxPushCurrent", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  if (!usable(context)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  the_contexts().push_back(context);
  return CUDA_SUCCESS;
}

// Fails where its device has failed before, as it may, and then takes nothing off the stack.
CUresult cuCtxPopCurrent(CUcontext* context) {
  const Call call("cuCtxPopCurrent", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  auto& stack = the_contexts();
  if (stack.empty()) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (const cudaError_t sticky = of(stack.back()->device).sticky; sticky != cudaSuccess) {
    return static_cast<CUresult>(sticky);
  }
  *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  const Call call("cuCtxGetCurrent", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  *context = current_context();
  return CUDA_SUCCESS;
}

// Null empties the top of the stack.
CUresult cuCtxSetCurrent(CUcontext context) {
  const Call call("cuCtxSetCurrent", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  if (context != nullptr && !usable(context)) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  auto& stack = the_contexts();
  if (!stack.empty()) {
    stack.pop_back();
  }
  if (context != nullptr) {
    stack.push_back(context);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  const Call call("cuMemGetInfo", CUDA_ERROR_UNKNOWN);
  if (call.failed()) {
    return failure(call);
  }
  const CUcontext context = current_context();
  if (context == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  if (of(context->device).sticky != cudaSuccess) {
    return static_cast<CUresult>(of(context->device).sticky);
  }
  *total = the_devices().options.memory;
  *free = *total - of(context->device).used;
  return CUDA_SUCCESS;
}
