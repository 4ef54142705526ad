"""The functions of CuPy's cudart wrapper that the simulator replaces, as CuPy 13.6 and 14.x declare them.

CuPy writes the C signature of each function on its capsule. A name or a signature that is not in these tables means a
CuPy that nobody has looked at yet: installation stops there instead of calling a function with the wrong arguments.
"""

_OPTIONAL = "struct __pyx_opt_args_13cupy_backends_4cuda_3api_7runtime_%s *__pyx_optional_args"
_SHORT = {
    "_deviceEnsurePeerAccess": "PyObject *(int)",
    "_getCUDAMajorVersion": "int ()",
    "check_status": "PyObject *(int)",
    "deviceCanAccessPeer": "int (int, int)",
    "deviceEnablePeerAccess": "PyObject *(int)",
    "deviceGetAttribute": "int (int, int)",
    "deviceSynchronize": "PyObject *()",
    "driverGetVersion": "int ()",
    "eventCreate": "intptr_t ()",
    "eventCreateWithFlags": "intptr_t (unsigned int)",
    "eventDestroy": "PyObject *(intptr_t)",
    "eventElapsedTime": "float (intptr_t, intptr_t)",
    "eventQuery": "PyObject *(intptr_t)",
    "eventRecord": "PyObject *(intptr_t, intptr_t)",
    "eventSynchronize": "PyObject *(intptr_t)",
    "free": "PyObject *(intptr_t)",
    "freeHost": "PyObject *(intptr_t)",
    "getDevice": "int ()",
    "getDeviceCount": "int ()",
    "getDeviceProperties": "PyObject *(int)",
    "hostAlloc": "intptr_t (size_t, unsigned int)",
    "hostRegister": "PyObject *(intptr_t, size_t, unsigned int)",
    "hostUnregister": "PyObject *(intptr_t)",
    "launchHostFunc": "PyObject *(intptr_t, PyObject *, intptr_t)",
    "malloc": "intptr_t (size_t)",
    "memGetInfo": "PyObject *()",
    "memcpy": "PyObject *(intptr_t, intptr_t, size_t, int)",
    "memcpyAsync": "PyObject *(intptr_t, intptr_t, size_t, int, intptr_t)",
    "memcpyPeer": "PyObject *(intptr_t, int, intptr_t, int, size_t)",
    "memcpyPeerAsync": "PyObject *(intptr_t, int, intptr_t, int, size_t, intptr_t)",
    "memset": "PyObject *(intptr_t, int, size_t)",
    "memsetAsync": "PyObject *(intptr_t, int, size_t, intptr_t)",
    "pointerGetAttributes": "struct __pyx_obj_13cupy_backends_4cuda_3api_7runtime_PointerAttributes *(intptr_t)",
    "pointerGetMemoryType": "int (intptr_t)",
    "profilerStart": "PyObject *()",
    "profilerStop": "PyObject *()",
    "runtimeGetVersion": "int ()",
    "setDevice": "PyObject *(int)",
    "streamCreate": "intptr_t ()",
    "streamCreateWithFlags": "intptr_t (unsigned int)",
    "streamCreateWithPriority": "intptr_t (unsigned int, int)",
    "streamDestroy": "PyObject *(intptr_t)",
    "streamGetFlags": "unsigned int (intptr_t)",
    "streamGetPriority": "int (intptr_t)",
    "streamIsCapturing": "int (intptr_t)",
    "streamQuery": "PyObject *(intptr_t)",
    "streamSynchronize": "PyObject *(intptr_t)",
    "streamWaitEvent": "PyObject *(intptr_t, intptr_t)",
}


def _in_full(name: str, short: str) -> str:
    result, arguments = short[:-1].split("(", 1)
    parts = [part for part in (arguments, "int __pyx_skip_dispatch") if part]
    if name == "streamWaitEvent":  # the one with an optional argument (flags)
        parts.append(_OPTIONAL % name)
    return f"{result}({', '.join(parts)})"


SIMULATED = {name: _in_full(name, short) for name, short in _SHORT.items()} | {"_ensure_context": "PyObject *(void)"}

# These raise NotImplementedError when they are called.
NOT_SIMULATED = {
    *("_launchHostFuncUnmanaged", "createSurfaceObject", "createTextureObject", "destroySurfaceObject"),
    *("destroyTextureObject", "deviceGetByPCIBusId", "deviceGetDefaultMemPool", "deviceGetLimit", "deviceGetMemPool"),
    *("deviceGetPCIBusId", "deviceSetLimit", "deviceSetMemPool", "freeArray", "freeAsync", "graphDebugDotPrint"),
    *("graphDestroy", "graphExecDestroy", "graphInstantiate", "graphLaunch", "graphUpload", "malloc3DArray"),
    *("mallocArray", "mallocAsync", "mallocFromPoolAsync", "mallocManaged", "memAdvise", "memPoolCreate"),
    *("memPoolDestroy", "memPoolGetAttribute", "memPoolSetAttribute", "memPoolTrimTo", "memPrefetchAsync"),
    *("memcpy2D", "memcpy2DAsync", "memcpy2DFromArray", "memcpy2DFromArrayAsync", "memcpy2DToArray"),
    *("memcpy2DToArrayAsync", "memcpy3D", "memcpy3DAsync", "streamAddCallback", "streamBeginCapture"),
    "streamEndCapture",
}

# These only fill or read structures of textures; they stay CuPy's own.
LEFT_ALONE = {
    *("getChannelDesc", "getTextureObjectResourceDesc", "getTextureObjectTextureDesc"),
    *("make_Extent", "make_PitchedPtr", "make_Pos"),
}


class UnknownCuPyError(RuntimeError):
    """Say that this CuPy differs from those the simulator was written for."""


def check(found: dict[str, str], version: str) -> None:
    """Compare the capsules' signatures with the tables.

    Raises:
        UnknownCuPyError: naming every function that is new or differs.
    """
    problems = []
    for name, signature in sorted(found.items()):
        if "(" not in signature or name in NOT_SIMULATED or name in LEFT_ALONE:
            continue
        if name not in SIMULATED:
            problems.append(f"{name}: unknown function `{signature}`")
        elif signature != SIMULATED[name]:
            problems.append(f"{name}: signature `{signature}`, expected `{SIMULATED[name]}`")
    if problems:
        raise UnknownCuPyError(
            f"cudasim does not know CuPy {version} (it knows 13.6 and 14.x); look at each of these and add it to "
            "tests/cudasim/signatures.py and native/runtime.c:\n  " + "\n  ".join(problems)
        )
