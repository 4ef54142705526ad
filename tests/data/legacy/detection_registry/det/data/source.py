import copy
import logging
import numpy as np
import cv2

logger = logging.getLogger(__name__)


class RoiDbSource(object):
    """Painted rectangles on noise: record dicts as a COCO source gives them."""

    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        self.roidbs = []
        for i in range(n):
            h, w = rng.randint(60, 90), rng.randint(60, 90)
            im = rng.randint(0, 90, (h, w, 3)).astype(np.uint8)
            boxes, classes = [], []
            for _ in range(rng.randint(1, 4)):
                x, y = rng.randint(0, w - 30), rng.randint(0, h - 30)
                bw, bh = rng.randint(12, 29, 2)
                c = rng.randint(0, 3)
                im[y:y + bh, x:x + bw, c] = 230
                boxes.append([x, y, x + bw - 1, y + bh - 1])
                classes.append([c])
            ok, buf = cv2.imencode('.png', im)
            self.roidbs.append({'im_id': np.array([i]), 'image': buf.tobytes(), 'h': h, 'w': w, 'gt_bbox': np.array(boxes, dtype=np.float), 'gt_class': np.array(classes, np.int32), 'gt_score': np.ones((len(boxes), 1), dtype=np.float32), 'is_crowd': np.zeros((len(boxes), 1), np.int32)})
        logger.debug('%d records', n)

    def __getitem__(self, i):
        return copy.deepcopy(self.roidbs[i])

    def __len__(self):
        return len(self.roidbs)
