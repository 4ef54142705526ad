/* Python.h as all C of fluidio wants it: the stable interface, so that one build serves all Pythons from 3.11 on. A
   free-threaded Python has none (up to 3.14); there each module says that it needs no interpreter lock: none of them
   keeps anything from one call to the next, but for objects of its own. */

#define PY_SSIZE_T_CLEAN
#include <pyconfig.h>
#ifndef Py_GIL_DISABLED
#define Py_LIMITED_API 0x030B0000
#define NO_LOCK_NEEDED
#else
#define NO_LOCK_NEEDED {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
#include <Python.h>
