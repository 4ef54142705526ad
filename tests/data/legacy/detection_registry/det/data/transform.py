import cv2
import numpy as np
from ..core.workspace import serializable
registered_ops = []


def register_op(cls):
    registered_ops.append(cls.__name__)
    return serializable(cls)


class BaseOperator(object):
    def __init__(self, name=None):
        self._id = '%s_%s' % (name or self.__class__.__name__, len(registered_ops))

    def __call__(self, sample, context=None):
        return sample


@register_op
class DecodeImage(BaseOperator):
    def __init__(self, to_rgb=True, with_mixup=False):
        super(DecodeImage, self).__init__()
        self.to_rgb = to_rgb
        self.with_mixup = with_mixup
        if not isinstance(self.to_rgb, bool):
            raise TypeError("{}: input type is invalid.".format(self))

    def __call__(self, sample, context=None):
        data = np.frombuffer(sample['image'], dtype='uint8')
        im = cv2.imdecode(data, 1)
        sample['image'] = cv2.cvtColor(im, cv2.COLOR_BGR2RGB) if self.to_rgb else im
        sample['im_info'] = np.array([im.shape[0], im.shape[1], 1.], dtype=np.float32)
        sample['im_size'] = np.array([im.shape[0], im.shape[1]], dtype=np.int32)
        if self.with_mixup and 'mixup' in sample:
            self(sample['mixup'], context)
        return sample


@register_op
class MixupImage(BaseOperator):
    def __init__(self, alpha=1.5, beta=1.5):
        super(MixupImage, self).__init__()
        self.alpha = alpha
        self.beta = beta

    def __call__(self, sample, context=None):
        if 'mixup' not in sample:
            return sample
        factor = max(0.0, min(1.0, np.random.beta(self.alpha, self.beta)))
        other = sample.pop('mixup')
        a, b = sample['image'], other['image']
        h, w = max(a.shape[0], b.shape[0]), max(a.shape[1], b.shape[1])
        im = np.zeros((h, w, a.shape[2]), 'float32')
        im[:a.shape[0], :a.shape[1], :] = a.astype('float32') * factor
        im[:b.shape[0], :b.shape[1], :] += b.astype('float32') * (1.0 - factor)
        sample['image'] = im.astype('uint8')
        sample['gt_score'] = np.concatenate((sample['gt_score'] * factor, other['gt_score'] * (1. - factor)), axis=0)
        for k in ('gt_bbox', 'gt_class', 'is_crowd'):
            sample[k] = np.concatenate((sample[k], other[k]), axis=0)
        sample['h'], sample['w'] = h, w
        return sample


@register_op
class RandomFlipImage(BaseOperator):
    def __init__(self, prob=0.5):
        super(RandomFlipImage, self).__init__()
        self.prob = prob

    def __call__(self, sample, context=None):
        if np.random.uniform(0, 1) < self.prob:
            w = sample['image'].shape[1]
            sample['image'] = sample['image'][:, ::-1, :]
            box = sample['gt_bbox']
            box[:, 0], box[:, 2] = w - box[:, 2] - 1, w - box[:, 0] - 1
            sample['flipped'] = True
        return sample


@register_op
class ResizeImage(BaseOperator):
    def __init__(self, target_size=0, interp=cv2.INTER_LINEAR):
        super(ResizeImage, self).__init__()
        self.target_size = target_size
        self.interp = int(interp)

    def __call__(self, sample, context=None):
        im = sample['image']
        sy, sx = float(self.target_size) / im.shape[0], float(self.target_size) / im.shape[1]
        sample['image'] = cv2.resize(im, None, None, fx=sx, fy=sy, interpolation=self.interp)
        return sample


@register_op
class NormalizeBox(BaseOperator):
    def __call__(self, sample, context=None):
        box = sample['gt_bbox']
        box[:, 0::2] /= sample['w']
        box[:, 1::2] /= sample['h']
        return sample


@register_op
class PadBox(BaseOperator):
    def __init__(self, num_max_boxes=50):
        super(PadBox, self).__init__()
        self.num_max_boxes = num_max_boxes

    def __call__(self, sample, context=None):
        n = min(self.num_max_boxes, len(sample['gt_bbox']))
        box = np.zeros((self.num_max_boxes, 4), dtype=np.float32)
        cls, score = np.zeros((self.num_max_boxes), np.int32), np.zeros((self.num_max_boxes), np.float32)
        b = sample['gt_bbox'][:n]
        box[:n, :2], box[:n, 2:] = (b[:, :2] + b[:, 2:]) / 2., b[:, 2:] - b[:, :2]
        cls[:n], score[:n] = sample['gt_class'][:n, 0], sample['gt_score'][:n, 0]
        sample.update(gt_bbox=box, gt_class=cls, gt_score=score)
        return sample


@register_op
class NormalizeImage(BaseOperator):
    def __init__(self, mean=[0.485, 0.456, 0.406], std=[1, 1, 1], is_scale=True, is_channel_first=True):
        super(NormalizeImage, self).__init__()
        self.mean, self.std, self.is_scale, self.is_channel_first = mean, std, is_scale, is_channel_first

    def __call__(self, sample, context=None):
        im = sample['image'].astype(np.float32, copy=False)
        mean, std = np.array(self.mean)[np.newaxis, np.newaxis, :], np.array(self.std)[np.newaxis, np.newaxis, :]
        if self.is_scale:
            im = im / 255.0
        im -= mean
        im /= std
        sample['image'] = im
        return sample


@register_op
class Permute(BaseOperator):
    def __init__(self, to_bgr=True, channel_first=True):
        super(Permute, self).__init__()
        self.to_bgr, self.channel_first = to_bgr, channel_first

    def __call__(self, sample, context=None):
        im = sample['image']
        if self.channel_first:
            im = np.swapaxes(np.swapaxes(im, 1, 2), 1, 0)
        if self.to_bgr:
            im = im[[2, 1, 0], :, :]
        sample['image'] = im
        return sample
