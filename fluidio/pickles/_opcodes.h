/* One opcode after another. Included by _arrays.c alone. */

static uint64_t little(const uint8_t *at, size_t size) {
    uint64_t number = 0;
    while (size--)
        number = number << 8 | at[size];
    return number;
}

/* Skip `size` bytes of the pickle and return where they were; NULL when it has not so many. */
static const uint8_t *next(Machine *m, uint64_t size) {
    if (size > (uint64_t)(m->end - m->at))
        return NULL;
    m->at += size;
    return m->at - size;
}

/* Skip a length of `width` bytes and as many bytes as it says. */
static const uint8_t *next_sized(Machine *m, size_t width, Py_ssize_t *size) {
    const uint8_t *length = next(m, width);
    uint64_t number = length == NULL ? 0 : little(length, width);
    *size = (Py_ssize_t)number;
    return length == NULL || number > (uint64_t)(m->end - m->at) ? NULL : next(m, number);
}

static PyObject *next_text(Machine *m, size_t width) {
    Py_ssize_t size;
    const uint8_t *text = next_sized(m, width, &size);
    return text == NULL ? NULL : PyUnicode_DecodeUTF8((const char *)text, size, "surrogatepass");
}

static PyObject *next_bytes(Machine *m, size_t width) {
    Py_ssize_t size;
    const uint8_t *bytes = next_sized(m, width, &size);
    return bytes == NULL ? NULL : PyBytes_FromStringAndSize((const char *)bytes, size);
}

static PyObject *next_bytearray(Machine *m) {
    Py_ssize_t size;
    const uint8_t *bytes = next_sized(m, 8, &size);
    return bytes == NULL ? NULL : PyByteArray_FromStringAndSize((const char *)bytes, size);
}

static PyObject *next_whole(Machine *m, size_t width, int is_signed) {
    const uint8_t *at = next(m, width);
    if (at == NULL || width > 8)
        return NULL;
    uint64_t number = little(at, width);
    if (is_signed && width && width < 8 && at[width - 1] & 0x80)
        number |= UINT64_MAX << 8 * width;
    return PyLong_FromLongLong((long long)number);
}

static PyObject *next_long(Machine *m) {
    const uint8_t *width = next(m, 1);
    return width == NULL ? NULL : next_whole(m, *width, 1);
}

static PyObject *next_float(Machine *m) {
    const uint8_t *at = next(m, 8);
    if (at == NULL)
        return NULL;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | at[i];
    double number;
    memcpy(&number, &bits, sizeof number);
    return PyFloat_FromDouble(number);
}

/* The names that are known; of NumPy's modules the old and the new one. */
static const char *const KNOWN[][2] = {
    {"numpy.core.multiarray", "_reconstruct"}, {"numpy", "ndarray"}, {"numpy", "dtype"},
    {"numpy.core.numeric", "_frombuffer"},     {"_codecs", "encode"},
    {"numpy._core.multiarray", "_reconstruct"}, {"numpy", "ndarray"}, {"numpy", "dtype"},
    {"numpy._core.numeric", "_frombuffer"},     {"_codecs", "encode"}};

static int is_text(const char *known, const char *text, size_t size) {
    return strlen(known) == size && memcmp(known, text, size) == 0;
}

static int push_name(Machine *m, const char *module, size_t module_size, const char *name, size_t name_size) {
    for (uint32_t i = 0; i < 2 * NAMES; i++)
        if (is_text(KNOWN[i][0], module, module_size) && is_text(KNOWN[i][1], name, name_size))
            return push(m, NULL, NAME, i % NAMES);
    return 0;
}

static int global(Machine *m) {
    const uint8_t *module = m->at, *name = memchr(module, '\n', (size_t)(m->end - module));
    const uint8_t *end = name == NULL ? NULL : memchr(name + 1, '\n', (size_t)(m->end - name - 1));
    if (end == NULL)
        return 0;
    m->at = end + 1;
    return push_name(m, (const char *)module, (size_t)(name - module), (const char *)name + 1, (size_t)(end - name - 1));
}

static int stack_global(Machine *m) {
    if (m->depth < 2 || m->stack[m->depth - 1].kind != OBJECT || m->stack[m->depth - 2].kind != OBJECT)
        return 0;
    PyObject *both[2] = {m->stack[m->depth - 2].object, m->stack[m->depth - 1].object};
    const char *text[2];
    Py_ssize_t size[2];
    for (int i = 0; i < 2; i++) {
        text[i] = Py_TYPE(both[i]) == &PyUnicode_Type ? PyUnicode_AsUTF8AndSize(both[i], &size[i]) : NULL;
        if (text[i] == NULL)
            return 0;
    }
    if (!push_name(m, text[0], (size_t)size[0], text[1], (size_t)size[1]))
        return 0;
    Value name = m->stack[--m->depth];
    drop(m, m->depth - 2);
    return push(m, NULL, NAME, name.number);
}

/* ---- the memo ----------------------------------------------------------------------------------------------------- */

static int put(Machine *m, uint64_t number) {
    if (m->depth == 0 || m->stack[m->depth - 1].kind == MARK || number >= MOST_MEMO || number > m->memo_count)
        return 0; /* picklers count on one by one */
    Value value = m->stack[m->depth - 1];
    Py_XINCREF(value.object);
    if (number < m->memo_count) {
        Value before = m->memo[number];
        m->memo[number] = value;
        Py_XDECREF(before.object);
        return 1;
    }
    Value *memo = grown(m->memo, &m->memo_room, m->memo_count, sizeof *memo);
    if (memo == NULL) {
        Py_XDECREF(value.object);
        return 0;
    }
    m->memo = memo;
    m->memo[m->memo_count++] = value;
    return 1;
}

static int get(Machine *m, uint64_t number) {
    if (number >= m->memo_count)
        return 0;
    Value value = m->memo[number];
    return push(m, Py_XNewRef(value.object), value.kind, value.number);
}

static int memo_of(Machine *m, size_t width, int (*use)(Machine *, uint64_t)) {
    const uint8_t *at = next(m, width);
    return at != NULL && use(m, little(at, width));
}

/* ---- all together ------------------------------------------------------------------------------------------------- */

static int step(Machine *m, uint8_t opcode) {
    size_t first;
    switch (opcode) {
    case 0x95: /* FRAME */
        return next(m, 8) != NULL;
    case '(':
        return push(m, NULL, MARK, 0);
    case 'N':
        return push_object(m, Py_NewRef(Py_None));
    case 0x88:
        return push_object(m, Py_NewRef(Py_True));
    case 0x89:
        return push_object(m, Py_NewRef(Py_False));
    case 'J':
        return push_object(m, next_whole(m, 4, 1));
    case 'K':
        return push_object(m, next_whole(m, 1, 0));
    case 'M':
        return push_object(m, next_whole(m, 2, 0));
    case 0x8a:
        return push_object(m, next_long(m));
    case 'G':
        return push_object(m, next_float(m));
    case 'X':
        return push_object(m, next_text(m, 4));
    case 0x8c:
        return push_object(m, next_text(m, 1));
    case 'B':
        return push_object(m, next_bytes(m, 4));
    case 'C':
        return push_object(m, next_bytes(m, 1));
    case 0x8e:
        return push_object(m, next_bytes(m, 8));
    case 0x96:
        return push_object(m, next_bytearray(m));
    case ')':
        return push_object(m, PyTuple_New(0));
    case ']':
        return push_object(m, PyList_New(0));
    case '}':
        return push_object(m, PyDict_New());
    case 0x85:
    case 0x86:
    case 0x87:
        first = opcode - 0x84u;
        return m->depth >= first && make_tuple(m, m->depth - first, m->depth - first);
    case 't':
        return (first = marked(m)) != 0 && make_tuple(m, first, first - 1);
    case 'a':
        return m->depth >= 2 && append_items(m, m->depth - 1, m->depth - 1);
    case 'e':
        return (first = marked(m)) != 0 && append_items(m, first, first - 1);
    case 's':
        return m->depth >= 3 && set_items(m, m->depth - 2, m->depth - 2);
    case 'u':
        return (first = marked(m)) != 0 && set_items(m, first, first - 1);
    case 'q':
        return memo_of(m, 1, put);
    case 'r':
        return memo_of(m, 4, put);
    case 0x94:
        return put(m, m->memo_count);
    case 'h':
        return memo_of(m, 1, get);
    case 'j':
        return memo_of(m, 4, get);
    case 'c':
        return global(m);
    case 0x93:
        return stack_global(m);
    case 'R':
        return reduce(m);
    case 'b':
        return build(m);
    default:
        return 0;
    }
}

/* The value of the pickle, or NULL to give up. */
static PyObject *run(Machine *m) {
    const uint8_t *head = next(m, 2);
    if (head == NULL || head[0] != 0x80 || head[1] < 2 || head[1] > 5)
        return NULL;
    while (m->at < m->end) {
        uint8_t opcode = *m->at++;
        if (opcode == '.')
            return m->depth == 1 ? Py_XNewRef(plain(m, m->stack)) : NULL;
        if (!step(m, opcode))
            return NULL;
    }
    return NULL;
}
