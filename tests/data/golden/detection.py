"""Layers of detectors: priors, anchors, box coding, matching, suppression, YOLO, and SSD's loss and head."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import wave, ints as plain_ints, Log, finish

L = fluid.layers


def ints(shape, modulo, mul=7, add=3, dtype='int64'):
    return plain_ints(shape, modulo, mul, add).astype(dtype)


def X(*shape):
    return wave(shape, 0.77, 0.3, 1.0, 0.05)


C=[]
def case(tag, feed, fn, wrt=('x',)): C.append((tag, feed, fn, tuple(w for w in wrt if w)))
img={'x': X(2,3,4,5), 'im': X(2,3,32,40)}
case('prior_box', img, lambda d: list(L.prior_box(d['x'], d['im'], min_sizes=[4.,8.], max_sizes=[6.,10.], aspect_ratios=[2.0,3.0], flip=True, clip=True)), ())
case('prior_box2', img, lambda d: list(L.prior_box(d['x'], d['im'], min_sizes=[4.], aspect_ratios=[1.0,2.0], steps=[8.,8.], offset=0.3, min_max_aspect_ratios_order=True)), ())
case('prior_box3', img, lambda d: list(L.prior_box(d['x'], d['im'], min_sizes=[4.,8.], max_sizes=[6.,10.], aspect_ratios=[1.0,2.0], min_max_aspect_ratios_order=True)), ())
case('density_prior', img, lambda d: list(L.density_prior_box(d['x'], d['im'], densities=[2,1], fixed_sizes=[4.,8.], fixed_ratios=[1.,2.])), ())
case('anchor', {'x': X(2,3,4,5)}, lambda d: list(L.anchor_generator(d['x'], anchor_sizes=[16.,32.], aspect_ratios=[0.5,1.0], stride=[8.,8.])), ())
def boxes(n, s=0.0):
    c=wave((n,2),0.9,s,0.25,0.5); h=wave((n,2),0.7,s+0.5,0.05,0.15)
    return np.concatenate([c-h,c+h],1).astype('float32')
case('iou', {'x': boxes(4), 'y': boxes(5,0.7)}, lambda d: [L.iou_similarity(d['x'], d['y']), L.iou_similarity(d['x'], d['y'], box_normalized=False)], ())
pv=np.tile(np.array([[0.1,0.1,0.2,0.2]],'float32'),(5,1))
case('coder_enc', {'x': boxes(4), 'p': boxes(5,0.7), 'v': pv}, lambda d: [L.box_coder(d['p'], d['v'], d['x']), L.box_coder(d['p'], [0.1,0.1,0.2,0.2], d['x'], box_normalized=False)], ())
case('coder_dec', {'x': X(4,5,4), 'p': boxes(5,0.7), 'v': pv}, lambda d: [L.box_coder(d['p'], d['v'], d['x'], code_type='decode_center_size')], ())
case('coder_dec1', {'x': X(4,5,4), 'p': boxes(4,0.7), 'v': pv[:4]}, lambda d: [L.box_coder(d['p'], d['v'], d['x'], code_type='decode_center_size', axis=1, box_normalized=False)], ())
case('bip', {'x': np.abs(X(3,6))}, lambda d: list(L.bipartite_match(d['x'])), ())
case('bip_pp', {'x': np.abs(X(3,6))}, lambda d: list(L.bipartite_match(d['x'], 'per_prediction', 0.4)), ())
sc=np.abs(wave((2,3,6),0.9,0.2)).astype('float32')
bb=np.stack([boxes(6),boxes(6,0.4)])
case('nms', {'x': bb, 's': sc}, lambda d: L.multiclass_nms(d['x'], d['s'], 0.1, 5, 4, nms_threshold=0.3), ())
case('nms_eta', {'x': bb, 's': sc}, lambda d: L.multiclass_nms(d['x'], d['s'], 0.05, -1, -1, nms_threshold=0.6, nms_eta=0.9, background_label=-1, normalized=False), ())
case('nms_none', {'x': bb, 's': sc*0}, lambda d: L.multiclass_nms(d['x'], d['s'], 0.1, 5, 4), ())
case('det_out', {'loc': X(2,6,4), 's': np.abs(wave((2,6,3),0.9,0.2)).astype('float32'), 'p': boxes(6,0.7), 'v': np.tile(pv[:1],(6,1))}, lambda d: L.detection_output(d['loc'], d['s'], d['p'], d['v'], nms_threshold=0.45), ())
case('yolo_box', {'x': X(2,14,3,4), 'i': np.array([[320,416],[200,300]],'int32')}, lambda d: list(L.yolo_box(d['x'], d['i'], anchors=[10,13,16,30], class_num=2, conf_thresh=0.3, downsample_ratio=32)), ())
case('yolo_box_noclip', {'x': X(2,14,3,4), 'i': np.array([[320,416],[200,300]],'int32')}, lambda d: list(L.yolo_box(d['x'], d['i'], anchors=[10,13,16,30], class_num=2, conf_thresh=0.01, downsample_ratio=32, clip_bbox=False)), ())
gt=np.stack([np.concatenate([wave((3,2),0.9,s,0.3,0.5),np.abs(wave((3,2),0.7,s+0.5,0.2,0.25))],1) for s in (0.,0.8)]).astype('float32'); gt[1,2]=0
yl={'x': X(2,21,4,4), 'g': gt, 'l': ints((2,3),2,7,1,'int32'), 'sc': np.abs(wave((2,3),0.5,0.3,0.4,0.5)).astype('float32')}
A=dict(anchors=[10,13,16,30,33,23,60,61], anchor_mask=[0,1,3], class_num=2, ignore_thresh=0.5, downsample_ratio=32)
case('yolov3', {k:v for k,v in yl.items() if k!='sc'}, lambda d: L.yolov3_loss(d['x'], d['g'], d['l'], **A))
case('yolov3_s', yl, lambda d: L.yolov3_loss(d['x'], d['g'], d['l'], gt_score=d['sc'], use_label_smooth=False, **A))
gt2=gt.copy(); gt2[0,1]=gt2[0,0]; gt2[0,1,2:]*=0.98
case('yolov3_dup', dict(yl, g=gt2), lambda d: L.yolov3_loss(d['x'], d['g'], d['l'], gt_score=d['sc'], **A))


def floats(variables):
    kinds = (fluid.core.VarDesc.VarType.FP32, fluid.core.VarDesc.VarType.FP64)
    return [v for v in variables if v.dtype in kinds]


log = Log()
exe = fluid.Executor(fluid.CPUPlace())
for tag, feed, fn, wrt in C:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 90
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        d = dict((k, L.data(name=k, shape=list(v.shape), append_batch_size=False, dtype=str(v.dtype), stop_gradient=v.dtype.kind != 'f')) for k, v in sorted(feed.items()))
        result = fn(d)
        outs = list(result) if isinstance(result, (list, tuple)) else [result]
        fetch, keys = list(outs), ['out%d' % i for i in range(len(outs))]
        block = main.global_block()
        params = [p.name for p in block.all_parameters()]
        if (wrt or params) and floats(outs):
            parts = [L.reduce_sum(L.square(o)) for o in floats(outs)]
            total = parts[0] if len(parts) == 1 else L.sums(parts)
            sources = [d[w] for w in wrt] + [block.var(p) for p in params if block.var(p).trainable]
            for v, g in zip(sources, fluid.gradients([L.cast(total, 'float32')], sources)):
                if g is not None:
                    fetch.append(g)
                    keys.append('g_' + v.name)
        if startup.global_block().ops:
            exe.run(startup)
        for key, value in zip(keys, exe.run(main, feed=feed, fetch_list=fetch, return_numpy=False)):
            log.put(tag + '/' + key, np.array(value))
        for p in params:
            log.put(tag + '/p_' + p, np.array(fluid.global_scope().find_var(p).get_tensor()))


def lod(array, lengths):
    return fluid.create_lod_tensor(array, [lengths], fluid.CPUPlace())


for tag, options in (('plain', {}), ('other', {'neg_pos_ratio': 2.0, 'overlap_threshold': 0.3, 'normalize': False})):
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        loc = L.data('loc', [8, 4], dtype='float32', stop_gradient=False)
        conf = L.data('conf', [8, 3], dtype='float32', stop_gradient=False)
        gb = L.data('gb', [4], dtype='float32', lod_level=1)
        gl = L.data('gl', [1], dtype='int32', lod_level=1)
        pb = L.data('pb', [8, 4], append_batch_size=False, dtype='float32')
        pv = L.data('pv', [8, 4], append_batch_size=False, dtype='float32')
        loss = L.ssd_loss(loc, conf, gb, gl, pb, pv, **options)
        grads = fluid.gradients([L.reduce_sum(loss)], [loc, conf])
    feed = {'loc': X(2, 8, 4), 'conf': wave((2, 8, 3), 0.9, 0.4), 'gb': lod(boxes(5, 0.65), [2, 3]),
            'gl': lod(np.array([[1], [2], [2], [1], [1]], 'int32'), [2, 3]), 'pb': boxes(8, 0.7),
            'pv': np.tile(np.array([[0.1, 0.1, 0.2, 0.2]], 'float32'), (8, 1))}
    for key, value in zip(('loss', 'g_loc', 'g_conf'), exe.run(main, feed=feed, fetch_list=[loss] + grads)):
        log.put('ssd_loss/%s/%s' % (tag, key), value)

HEADS = [
    ('ratios', (8, 4, 2), dict(aspect_ratios=[[2.], [2., 3.], [2.]], min_ratio=20, max_ratio=90, offset=0.5, flip=True, clip=True)),
    ('sizes', (8, 4), dict(aspect_ratios=[[2.], [2., 3.]], min_sizes=[10., 20.], max_sizes=[15., 30.], steps=[8., 16.], kernel_size=3, pad=1)),
]
for tag, sides, options in HEADS:
    main, startup = fluid.Program(), fluid.Program()
    main.random_seed = startup.random_seed = 90
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        image = L.data('im', [3, 64, 64], dtype='float32')
        maps = [L.data('f%d' % i, [4, s, s], dtype='float32') for i, s in enumerate(sides)]
        found = L.multi_box_head(inputs=maps, image=image, base_size=64, num_classes=3, **options)
    exe.run(startup)
    feed = dict(('f%d' % i, X(2, 4, s, s)) for i, s in enumerate(sides))
    feed['im'] = X(2, 3, 64, 64)
    for key, value in zip(('loc', 'conf', 'box', 'var'), exe.run(main, feed=feed, fetch_list=list(found))):
        log.put('multi_box_head/%s/%s' % (tag, key), value)
finish(__file__, __doc__, log, rtol=5e-5, atol=5e-6)
