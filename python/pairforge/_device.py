"""Arrays of other libraries and of GPUs: copied to the host, once.

The rule: what NumPy takes as it is is not copied. An array on the CPU with DLPack is shared. An array on a GPU is copied to the
host, by its own library through DLPack where that can, and else, where it has `__cuda_array_interface__`, by the driver.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._errors import InputError, ToolError

#: `kDLCPU` of DLPack.
ON_CPU = 1


def on_host(name: str, given: Any) -> Any:
    """An argument as NumPy takes it: `given` itself, or a copy of it on the host."""
    if isinstance(given, (np.ndarray, list, tuple, int, float)) or hasattr(given, "__array_interface__"):
        return given
    if hasattr(given, "__cuda_array_interface__"):
        return _of_cuda(name, given.__cuda_array_interface__)
    if hasattr(given, "__dlpack__") and hasattr(given, "__dlpack_device__"):
        is_here = given.__dlpack_device__()[0] == ON_CPU
        try:
            return np.from_dlpack(given) if is_here else np.from_dlpack(given, device="cpu", copy=True)
        except (TypeError, ValueError, BufferError, RuntimeError) as why:
            if is_here:
                return given
            raise InputError(f"`{name}` is on a device, and its library gives no copy on the host: {why}") from None
    return given


def _of_cuda(name: str, interface: dict[str, Any]) -> Any:
    """A copy on the host of what `__cuda_array_interface__` describes."""
    try:
        shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        pointer, strides = interface["data"][0], interface.get("strides")
    except (KeyError, TypeError, IndexError) as why:
        raise InputError(f"`{name}` has a `__cuda_array_interface__` that does not follow its version 3: {why!r}") from None
    if strides is None:
        strides = tuple(np.empty(0, dtype).itemsize * int(np.prod(shape[k + 1 :], dtype=int)) for k in range(len(shape)))
    if 0 in shape:
        return np.empty(shape, dtype)
    # The span of bytes from the lowest to the highest element.
    low = sum(min(0, stride * (n - 1)) for stride, n in zip(strides, shape))
    high = sum(max(0, stride * (n - 1)) for stride, n in zip(strides, shape)) + dtype.itemsize
    bytes_of = np.empty(high - low, np.uint8)
    _copy(name, bytes_of.ctypes.data, pointer + low, high - low)
    return np.ndarray(shape, dtype, bytes_of, -low, strides)


def _copy(name: str, to: int, pointer: int, size: int) -> None:
    """Copies memory of a GPU to the host by the driver, after all work that was begun on that GPU."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise ToolError(f"`{name}` is on a GPU, and there is no driver for it: libcuda.so.1 is not found") from None

    def done(code: int, what: str) -> None:
        if code != 0:
            raise ToolError(f"`{name}` cannot be copied from the GPU: {what} of the driver gave the error {code}")

    context, device = ctypes.c_void_p(), ctypes.c_uint64(pointer)
    done(cuda.cuInit(0), "cuInit")
    # CU_POINTER_ATTRIBUTE_CONTEXT
    done(cuda.cuPointerGetAttribute(ctypes.byref(context), 1, device), "cuPointerGetAttribute")
    if not context.value:
        # Memory of a pool has no context of its own; that of its device is as good.
        ordinal, handle = ctypes.c_int(), ctypes.c_int()
        # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        done(cuda.cuPointerGetAttribute(ctypes.byref(ordinal), 9, device), "cuPointerGetAttribute")
        done(cuda.cuDeviceGet(ctypes.byref(handle), ordinal), "cuDeviceGet")
        done(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle), "cuDevicePrimaryCtxRetain")
    done(cuda.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
    try:
        done(cuda.cuCtxSynchronize(), "cuCtxSynchronize")
        done(cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(to), device, ctypes.c_size_t(size)), "cuMemcpyDtoH")
    finally:
        cuda.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
