/* Samples between pixels, and where their gradients go; included once for each set of instructions. */

/* Set the corners of `count` samples at y[i], x[i] of a plane: places[4], weights[4], and the slopes of the weights by y
   and by x if `slopes`. A corner outside the plane is pixel 0 with weight 0. */
TARGET static void NAME(corners)(const Sizes *s, const float *y, const float *x, Py_ssize_t count, const Corners *to,
                                 int slopes) {
    const float height = (float)s->height, width = (float)s->width;
    for (Py_ssize_t i = 0; i < count; i++) {
        float top = floorf(y[i]), left = floorf(x[i]), down = y[i] - top, right = x[i] - left;
        int inside = (y[i] > -1) & (x[i] > -1) & (y[i] < height) & (x[i] < width);
        int32_t row = inside ? (int32_t)top : 0, column = inside ? (int32_t)left : 0;
        int high = inside & (row >= 0), low = inside & (row + 1 < s->height);
        int first = inside & (column >= 0), last = inside & (column + 1 < s->width);
        down = inside ? down : 0, right = inside ? right : 0;
        float up = 1 - down, back = 1 - right;
        int there[4] = {high & first, high & last, low & first, low & last};
        int32_t at = row * (int32_t)s->width + column;
        int32_t place[4] = {at, at + 1, at + (int32_t)s->width, at + (int32_t)s->width + 1};
        float weight[4] = {up * back, up * right, down * back, down * right};
        float by_y[4] = {-back, -right, back, right}, by_x[4] = {-up, up, -down, down};
        for (int k = 0; k < 4; k++) {
            to->place[k][i] = there[k] ? place[k] : 0;
            to->weight[k][i] = there[k] ? weight[k] : 0;
            if (slopes) {
                to->by_y[k][i] = there[k] ? by_y[k] : 0;
                to->by_x[k][i] = there[k] ? by_x[k] : 0;
            }
        }
    }
}

/* Set `out` to the samples of one plane, times a mask. */
TARGET static void NAME(read)(const float *plane, const Corners *at, const float *mask, Py_ssize_t count,
                              float *restrict out) {
    const int32_t *p0 = at->place[0], *p1 = at->place[1], *p2 = at->place[2], *p3 = at->place[3];
    const float *w0 = at->weight[0], *w1 = at->weight[1], *w2 = at->weight[2], *w3 = at->weight[3];
    for (Py_ssize_t i = 0; i < count; i++)
        out[i] = (plane[p0[i]] * w0[i] + plane[p1[i]] * w1[i] + plane[p2[i]] * w2[i] + plane[p3[i]] * w3[i]) * mask[i];
}

/* Add up, over the planes, what the gradients `d` of samples are for the mask and for the positions; set `moved` to the
   gradients of the four corners, and `d` to the samples. */
TARGET static void NAME(gather)(const float *plane, const Corners *at, const float *mask, float *restrict d,
                                Py_ssize_t count, float *restrict dmask, float *restrict dy, float *restrict dx,
                                float *restrict moved) {
    const int32_t *p0 = at->place[0], *p1 = at->place[1], *p2 = at->place[2], *p3 = at->place[3];
    const float *w0 = at->weight[0], *w1 = at->weight[1], *w2 = at->weight[2], *w3 = at->weight[3];
    const float *y0 = at->by_y[0], *y1 = at->by_y[1], *y2 = at->by_y[2], *y3 = at->by_y[3];
    const float *x0 = at->by_x[0], *x1 = at->by_x[1], *x2 = at->by_x[2], *x3 = at->by_x[3];
    float *restrict m0 = moved, *restrict m1 = m0 + count, *restrict m2 = m1 + count, *restrict m3 = m2 + count;
    for (Py_ssize_t i = 0; i < count; i++) {
        float a = plane[p0[i]], b = plane[p1[i]], c = plane[p2[i]], e = plane[p3[i]], part = d[i] * mask[i];
        float sample = a * w0[i] + b * w1[i] + c * w2[i] + e * w3[i];
        dmask[i] += d[i] * sample;
        d[i] = sample * mask[i];
        dy[i] += part * (a * y0[i] + b * y1[i] + c * y2[i] + e * y3[i]);
        dx[i] += part * (a * x0[i] + b * x1[i] + c * x2[i] + e * x3[i]);
        m0[i] = part * w0[i], m1[i] = part * w1[i], m2[i] = part * w2[i], m3[i] = part * w3[i];
    }
}
