/* Rows (dicts of Python values) become columns or records: rows.py says what is collected, and row_buffers.py does the
   same in Python.

   Only values of exactly the expected type are taken here, and only if they fit: all others are left to `otherwise`,
   which returns their bytes or raises. So a number is never wrapped, and all error texts are Python's.
*/


#include "../_python.h"

#include "_row_records.h"


typedef struct {
    PyObject_HEAD
    Py_ssize_t count, rows, bytes, max_rows, max_bytes;
    int busy;
    PyObject *problem; /* called with a row that has other names: raises */
    Slot *slots;
    int direct;    /* values go to records, not to columns */
    Bytes records;
} Collector;

/* Append what `otherwise` made of a value, or of each item of a list of lists. */
static int put_buffer(Slot *slot, PyObject *value) {
    Py_buffer view;
    if (PyObject_GetBuffer(value, &view, PyBUF_C_CONTIGUOUS) < 0)
        return ERROR;
    int fits = slot->depth ? view.len % slot->item == 0 : view.len == slot->fixed;
    int done = fits ? append(slot->to, view.buf, view.len) : ERROR;
    PyBuffer_Release(&view);
    if (!fits)
        PyErr_SetString(PyExc_ValueError, "a value of the wrong size");
    return done;
}

static int put_odd(Slot *slot, PyObject *value) {
    PyObject *found = PyObject_CallFunctionObjArgs(slot->otherwise, value, NULL);
    if (found == NULL)
        return ERROR;
    int done = DONE;
    if (slot->depth < 2) {
        done = put_buffer(slot, found);
    } else if (!PyList_Check(found)) {
        PyErr_SetString(PyExc_TypeError, "a list of buffers is expected");
        done = ERROR;
    } else {
        for (Py_ssize_t index = 0; done == DONE && index < PyList_Size(found); index++) {
            done = put_buffer(slot, PyList_GetItem(found, index));
            if (done == DONE)
                done = append_number(&slot->inner, slot->to->size / slot->item);
        }
    }
    Py_DECREF(found);
    return done;
}

static int put_value(Collector *self, Slot *slot, PyObject *value) {
    if (self->direct && begin_tensor(slot, &self->records) < 0)
        return ERROR;
    mark(slot);
    int done = put(slot, value, slot->depth);
    if (done == ODD) {
        cut(slot);
        done = put_array(slot, value);
    }
    if (done == ODD)
        done = put_odd(slot, value);
    if (done != DONE)
        return ERROR;
    self->bytes += slot->depth ? slot->to->size - slot->data_mark : slot->counted;
    if (self->direct)
        return end_tensor(slot, &self->records);
    if (slot->depth == 0)
        return DONE;
    return append_number(&slot->outer, slot->depth == 2 ? slot->inner.size / 8 : slot->data.size / slot->item);
}

/* The value of a slot, as a new reference; NULL and no exception when the row has none. `at` is where the row's next
   name stands, if it has its names in the order of the slots. */
static PyObject *value_of(PyObject *row, const Slot *slot, Py_ssize_t *at) {
    PyObject *value = NULL;
#ifdef Py_GIL_DISABLED
    (void)at;
    return PyDict_GetItemRef(row, slot->name, &value) < 0 ? NULL : value;
#else
    PyObject *name;
    if (*at < 0 || !PyDict_Next(row, at, &name, &value) || name != slot->name) {
        *at = -1;
        value = PyDict_GetItemWithError(row, slot->name);
    }
    Py_XINCREF(value);
    return value;
#endif
}

/* Take back what is there of a row that did not end well; its first slots have begun. */
static void cut_row(Collector *self, Py_ssize_t begun, Py_ssize_t start) {
    for (Py_ssize_t i = 0; i < begun; i++) {
        cut(&self->slots[i]);
        self->slots[i].outer.size = self->slots[i].depth ? 8 * self->rows : 0;
    }
    if (self->direct)
        self->records.size = start;
}

static int put_row(Collector *self, PyObject *row) {
    Py_ssize_t at = 0, before = self->bytes, start = self->records.size, index = 0;
    int done = PyDict_Size(row) == self->count ? DONE : ODD;
    if (self->direct && begin_record(&self->records) < 0)
        return ERROR;
    while (done == DONE && index < self->count) {
        Slot *slot = &self->slots[index];
        PyObject *value = value_of(row, slot, &at);
        if (value == NULL) {
            done = PyErr_Occurred() ? ERROR : ODD;
            break;
        }
        index++;
        done = put_value(self, slot, value);
        Py_DECREF(value);
    }
    if (done == DONE && self->direct)
        done = end_record(&self->records, start, self->count);
    if (done == DONE) {
        self->rows++;
        return DONE;
    }
    self->bytes = before;
    cut_row(self, index, start);
    if (done == ODD) {
        Py_XDECREF(PyObject_CallFunctionObjArgs(self->problem, row, NULL));
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "the row has other names");
    }
    return ERROR;
}

static int is_full(const Collector *self) { return self->rows >= self->max_rows || self->bytes >= self->max_bytes; }

static int begin(Collector *self) {
    if (self->busy) {
        PyErr_SetString(PyExc_RuntimeError, "rows are being collected already");
        return ERROR;
    }
    self->busy = 1;
    return DONE;
}

static PyObject *add(PyObject *object, PyObject *row) {
    Collector *self = (Collector *)object;
    if (!PyDict_Check(row)) {
        PyErr_SetString(PyExc_TypeError, "a row is a dict");
        return NULL;
    }
    if (begin(self) < 0)
        return NULL;
    int done = put_row(self, row);
    self->busy = 0;
    return done == DONE ? PyBool_FromLong(is_full(self)) : NULL;
}

/* fill(iterator) -> whether there may be more rows, or (value,) for one that is no plain dict: takes rows until it is
   full. */
static PyObject *fill(PyObject *object, PyObject *iterator) {
    Collector *self = (Collector *)object;
    if (!PyIter_Check(iterator)) {
        PyErr_SetString(PyExc_TypeError, "an iterator is expected");
        return NULL;
    }
    if (begin(self) < 0)
        return NULL;
    PyObject *other = NULL;
    int more = 1;
    while (more && !is_full(self)) {
        PyObject *row = PyIter_Next(iterator);
        if (row == NULL) {
            more = 0;
        } else if (Py_TYPE(row) != &PyDict_Type) {
            other = row;
            break;
        } else {
            more = put_row(self, row) == DONE;
            Py_DECREF(row);
        }
    }
    self->busy = 0;
    if (PyErr_Occurred())
        return NULL;
    return other != NULL ? Py_BuildValue("(N)", other) : PyBool_FromLong(more);
}

static PyObject *take_records(Collector *self) {
    if (begin(self) < 0)
        return NULL;
    PyObject *records = give(&self->records);
    self->rows = self->bytes = self->records.size = 0;
    self->busy = 0;
    return records;
}

/* take() -> [(data, outer or None, inner or None), ...], bytearrays, or a bytearray of records; begins anew. */
static PyObject *take(PyObject *object, PyObject *unused) {
    Collector *self = (Collector *)object;
    if (self->direct)
        return take_records(self);
    PyObject *columns = begin(self) < 0 ? NULL : PyList_New(self->count);
    if (columns == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Slot *slot = &self->slots[i];
        PyObject *data = give(&slot->data);
        PyObject *outer = slot->depth ? give(&slot->outer) : Py_NewRef(Py_None);
        PyObject *inner = slot->depth == 2 ? give(&slot->inner) : Py_NewRef(Py_None);
        PyObject *column = data && outer && inner ? PyTuple_Pack(3, data, outer, inner) : NULL;
        Py_XDECREF(data);
        Py_XDECREF(outer);
        Py_XDECREF(inner);
        if (column == NULL || PyList_SetItem(columns, i, column) < 0) {
            Py_DECREF(columns);
            columns = NULL;
            break;
        }
    }
    self->rows = self->bytes = 0;
    self->busy = 0;
    return columns;
}

/* ---- the type ---------------------------------------------------------------------------------------------------- */

static PyObject *get_rows(PyObject *object, void *unused) { return PyLong_FromSsize_t(((Collector *)object)->rows); }

static int set_slot(Slot *slot, PyObject *given, Bytes *records) {
    PyObject *like, *start, *tail;
    int element;
    if (!PyArg_ParseTuple(given, "O!CinnnOOOOSS:slot", &PyUnicode_Type, &slot->name, &element, &slot->depth,
                          &slot->item, &slot->fixed, &slot->counted, &slot->exact[0], &slot->exact[1], &like,
                          &slot->otherwise, &start, &tail)) {
        memset(slot, 0, sizeof *slot); /* nothing in it is ours yet */
        return ERROR;
    }
    Py_INCREF(slot->name);
    PyUnicode_InternInPlace(&slot->name);
    Py_INCREF(slot->otherwise);
    Py_INCREF(slot->exact[0]);
    Py_INCREF(slot->exact[1]);
    slot->element = element == '-' ? 0 : (char)element;
    static const char *const widths = "b1h2i4q8B1f4d8?1s1y1";
    const char *width = slot->element ? strchr(widths, slot->element) : NULL;
    int fits = slot->item > 0 && slot->fixed >= 0 && slot->depth >= 0 && slot->depth <= 2 && element < 128;
    if (slot->element)
        fits = fits && width != NULL && slot->item == width[1] - '0' && (slot->depth || slot->fixed == slot->item);
    if (like != Py_None) {
        if (PyObject_GetBuffer(like, &slot->like, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0)
            return ERROR;
        fits = fits && slot->like.format != NULL && strchr(slot->like.format, 'O') == NULL && slot->depth < 2;
        fits = fits && (slot->depth ? slot->like.ndim > 0 : slot->like.len == slot->fixed);
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "a slot that cannot be");
        return ERROR;
    }
    slot->to = records != NULL && slot->depth < 2 ? records : &slot->data;
    return records == NULL ? DONE : set_head(slot, start, tail);
}

static PyObject *new_collector(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *slots, *problem;
    Py_ssize_t max_rows, max_bytes;
    int direct;
    if (!PyArg_ParseTuple(args, "O!Onnp", &PyTuple_Type, &slots, &problem, &max_rows, &max_bytes, &direct))
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Collector *self = (Collector *)alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->direct = direct;
    self->max_rows = max_rows;
    self->max_bytes = max_bytes;
    self->problem = Py_NewRef(problem);
    self->slots = PyMem_Calloc((size_t)PyTuple_Size(slots) + 1, sizeof(Slot));
    if (self->slots == NULL)
        PyErr_NoMemory();
    else
        self->count = PyTuple_Size(slots);
    for (Py_ssize_t i = 0; i < self->count && !PyErr_Occurred(); i++)
        set_slot(&self->slots[i], PyTuple_GetItem(slots, i), direct ? &self->records : NULL);
    if (PyErr_Occurred()) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static void free_collector(PyObject *object) {
    Collector *self = (Collector *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Slot *slot = &self->slots[i];
        PyObject *held[] = {slot->name,     slot->otherwise,   slot->exact[0],   slot->exact[1],
                            slot->data.array, slot->outer.array, slot->inner.array};
        for (size_t j = 0; j < sizeof held / sizeof *held; j++)
            Py_XDECREF(held[j]);
        PyMem_Free(slot->head);
        if (slot->like.obj != NULL)
            PyBuffer_Release(&slot->like);
    }
    PyMem_Free(self->slots);
    Py_XDECREF(self->records.array);
    Py_XDECREF(self->problem);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF((PyObject *)type);
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, NULL}, {"fill", fill, METH_O, NULL}, {"take", take, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyGetSetDef properties[] = {{"rows", get_rows, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot type_slots[] = {{Py_tp_new, new_collector},
                                   {Py_tp_dealloc, free_collector},
                                   {Py_tp_methods, methods},
                                   {Py_tp_getset, properties},
                                   {0, NULL}};

static PyType_Spec type_spec = {"fluidio.conversion._rows.Collector", sizeof(Collector), 0, Py_TPFLAGS_DEFAULT,
                                type_slots};

static int add_types(PyObject *module) {
    PyObject *type = PyType_FromSpec(&type_spec);
    int failed = type == NULL || PyModule_AddObjectRef(module, "Collector", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, add_types},
                                          NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_rows", NULL, 0, NULL, module_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&definition); }
