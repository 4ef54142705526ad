/* Walk over the opcodes of a pickle without running them: opcodes.py says what is checked, and does the same in Python.

   No byte outside the given buffer is touched, whatever the numbers in it say.
*/

#include "../_python.h"

#include <stdint.h>
#include <string.h>

#define MARK 0xFFFF
#define UNSET 0xFFFF

/* The columns and the numbers of the table that opcodes.py makes. */
enum { ARGUMENT, ACTION, POPS, PUSHES, COLUMNS };
enum { LINE = 100, TWO_LINES, SIZE1, SIZE4, SIZE8, UNKNOWN };
enum { COMPUTE, UPDATE, TO_MARK, UPDATE_TO_MARK, PUT, GET, MEMOIZE, SET_MARK, POP, STOP, FRAME };

typedef struct {
    uint16_t *items;
    size_t count, room, filled; /* filled: memo entries that are set, which is what MEMOIZE counts on from */
} Depths;

static int reserve(Depths *depths, size_t count) {
    if (count <= depths->room)
        return 1;
    size_t room = count + count / 2 + 64;
    uint16_t *items = PyMem_Realloc(depths->items, room * sizeof *items);
    if (items == NULL)
        return 0;
    depths->items = items;
    depths->room = room;
    return 1;
}

static uint64_t little(const uint8_t *at, int bytes) {
    uint64_t number = 0;
    while (bytes--)
        number = number << 8 | at[bytes];
    return number;
}

/* The decimal number in a line; too large a one is UINT64_MAX, and so is anything else. */
static uint64_t decimal(const uint8_t *at, const uint8_t *end) {
    uint64_t number = 0;
    if (at == end || end - at > 18)
        return UINT64_MAX;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return UINT64_MAX;
        number = number * 10 + (*at - '0');
    }
    return number;
}

static const char *const CUT = "it ends in the middle of an opcode";
static const char *const UNDERFLOW = "an opcode finds nothing to work on";
static const char *const INDEX = "the number of a memo is far too large";
static const char *const MEMO = "it refers to a memo that does not exist";
static const char *const DEEP = "it is nested too deeply";
static const char *const ACROSS = "an opcode does not end where its frame does";

/* Where the pickle ends, or NULL and what is wrong. */
static const uint8_t *walk(const uint8_t *at, const uint8_t *end, const uint8_t *table, uint64_t deepest,
                           uint64_t least_memo, Depths *stack, Depths *memo, const char **problem) {
    uint64_t steps = 0;
    const uint8_t *frame = NULL; /* where it ends */
    for (; *problem == NULL; steps++) {
        if (frame != NULL && at > frame) {
            *problem = ACROSS; /* the unpickler would skip the rest of the frame, and so see other opcodes than these */
            break;
        }
        frame = at == frame ? NULL : frame;
        if (at == end) {
            *problem = CUT;
            break;
        }
        const uint8_t *row = table + COLUMNS * *at++, *argument = at;
        uint64_t left = (uint64_t)(end - at), size = row[ARGUMENT], number = 0;
        if (size == UNKNOWN) {
            *problem = "it has an opcode that does not exist";
            break;
        } else if (size == LINE || size == TWO_LINES) {
            for (int lines = size == LINE ? 1 : 2; lines && at != NULL; lines--) {
                at = memchr(at, '\n', (size_t)(end - at));
                at = at == NULL ? NULL : at + 1;
            }
            if (at == NULL) {
                *problem = CUT;
                break;
            }
            number = row[ACTION] == PUT || row[ACTION] == GET ? decimal(argument, at - 1) : 0;
        } else {
            int prefix = size == SIZE1 ? 1 : size == SIZE4 ? 4 : size == SIZE8 ? 8 : 0;
            uint64_t whole = prefix ? (uint64_t)prefix : size;
            if (left < whole || (prefix && left - whole < (number = little(at, prefix)))) {
                *problem = CUT;
                break;
            }
            if (!prefix && whole <= 8)
                number = little(at, (int)whole);
            at += whole + (prefix ? number : 0);
        }
        size_t bottom = stack->count;
        uint64_t depth = 0;
        switch (row[ACTION]) {
        case FRAME:
            if (number > (uint64_t)(end - at))
                *problem = CUT;
            else if (frame != NULL)
                *problem = ACROSS;
            else
                frame = at + number;
            continue;
        case SET_MARK:
            if (!reserve(stack, stack->count + 1))
                return NULL;
            stack->items[stack->count++] = MARK;
            continue;
        case POP:
            if (stack->count == 0)
                *problem = UNDERFLOW;
            else
                stack->count--;
            continue;
        case MEMOIZE:
        case PUT:
            if (stack->count == 0 || stack->items[stack->count - 1] == MARK) {
                *problem = UNDERFLOW;
                continue;
            }
            if (row[ACTION] == MEMOIZE)
                number = memo->filled;
            if (number > least_memo && number > steps) {
                *problem = INDEX;
                continue;
            }
            if (!reserve(memo, number + 1))
                return NULL;
            while (memo->count <= number)
                memo->items[memo->count++] = UNSET;
            memo->filled += memo->items[number] == UNSET;
            memo->items[number] = stack->items[stack->count - 1];
            continue;
        case GET:
            if (number >= memo->count || memo->items[number] == UNSET) {
                *problem = MEMO;
                continue;
            }
            depth = memo->items[number];
            break;
        case STOP:
            if (stack->count == 0 || stack->items[stack->count - 1] == MARK) {
                *problem = UNDERFLOW;
                continue;
            }
            if (frame == NULL || at <= frame)
                return at;
            *problem = ACROSS;
            continue;
        default: {
            int to_mark = row[ACTION] == TO_MARK || row[ACTION] == UPDATE_TO_MARK;
            int update = row[ACTION] == UPDATE || row[ACTION] == UPDATE_TO_MARK;
            if (to_mark) {
                while (bottom && stack->items[bottom - 1] != MARK) {
                    uint64_t item = stack->items[--bottom] + 1u;
                    depth = depth < item ? item : depth;
                }
                if (bottom-- == 0) {
                    *problem = UNDERFLOW;
                    continue;
                }
            }
            for (int pops = row[POPS]; pops && *problem == NULL; pops--) {
                if (bottom == 0 || stack->items[bottom - 1] == MARK) {
                    *problem = UNDERFLOW;
                    break;
                }
                uint64_t item = stack->items[--bottom] + (update && pops == 1 ? 0u : 1u);
                depth = depth < item ? item : depth;
            }
        }
        }
        if (depth > deepest)
            *problem = DEEP;
        if (*problem != NULL)
            break;
        if (!reserve(stack, bottom + row[PUSHES]))
            return NULL;
        stack->count = bottom;
        for (int pushes = row[PUSHES]; pushes; pushes--)
            stack->items[stack->count++] = (uint16_t)depth;
    }
    return NULL;
}

/* scan(data, start, table, deepest, least_memo) -> end; ValueError says what is wrong */
static PyObject *scan(PyObject *module, PyObject *args) {
    Py_buffer data, table;
    Py_ssize_t start;
    unsigned short deepest;
    unsigned int least_memo;
    if (!PyArg_ParseTuple(args, "y*ny*HI", &data, &start, &table, &deepest, &least_memo))
        return NULL;
    const char *problem = NULL;
    const uint8_t *begin = data.buf, *stop = NULL;
    Depths stack = {NULL, 0, 0, 0}, memo = {NULL, 0, 0, 0};
    if (table.len != 256 * COLUMNS || start < 0 || start > data.len || deepest >= MARK)
        problem = "wrong arguments";
    else
        stop = walk(begin + start, begin + data.len, table.buf, deepest, least_memo, &stack, &memo, &problem);
    PyMem_Free(stack.items);
    PyMem_Free(memo.items);
    PyBuffer_Release(&data);
    PyBuffer_Release(&table);
    if (problem != NULL) {
        PyErr_SetString(PyExc_ValueError, problem);
        return NULL;
    }
    return stop == NULL ? PyErr_NoMemory() : PyLong_FromSsize_t(stop - begin);
}

static PyMethodDef functions[] = {{"scan", scan, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {NO_LOCK_NEEDED{0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scan", NULL, 0, functions, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__scan(void) { return PyModuleDef_Init(&definition); }
