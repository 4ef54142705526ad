"""Mean average precision of detections over three batches and after a reset: both versions, difficult boxes or not."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish

L=fluid.layers
log = Log()
def lod(a, lens): return fluid.create_lod_tensor(a,[lens],fluid.CPUPlace())
exe=fluid.Executor(fluid.CPUPlace())
rng=np.random.RandomState(3)
def bx(n):
    c=rng.rand(n,2)*0.6+0.2; h=rng.rand(n,2)*0.15+0.05
    return np.concatenate([c-h,c+h],1)
for ap in ('integral','11point'):
  for ed in (True,False):
    main,st=fluid.Program(),fluid.Program()
    with fluid.program_guard(main,st), fluid.unique_name.guard(), fluid.scope_guard(fluid.Scope()):
        det=L.data('det',[6],dtype='float32',lod_level=1); lab=L.data('lab',[1],dtype='float32',lod_level=1); box=L.data('box',[4],dtype='float32',lod_level=1); dif=L.data('dif',[1],dtype='float32',lod_level=1)
        e=fluid.metrics.DetectionMAP(det,lab,box,dif,class_num=4,background_label=0,overlap_threshold=0.3,evaluate_difficult=ed,ap_version=ap)
        cur,acc=e.get_map_var()
        exe.run(st)
        for step in range(3):
            gb=bx(6).astype('float32'); gl=rng.randint(1,4,(6,1)).astype('float32'); gd=(rng.rand(6,1)<0.3).astype('float32')
            d=np.concatenate([np.concatenate([gl,rng.rand(6,1),gb+rng.randn(6,4)*0.02],1),np.concatenate([rng.randint(1,4,(4,1)),rng.rand(4,1),bx(4)],1)]).astype('float32')
            order=[0,1,2,6,7,3,4,5,8,9]; d=d[order]
            r=exe.run(main,feed={'det':lod(d,[5,5]),'lab':lod(gl,[3,3]),'box':lod(gb,[3,3]),'dif':lod(gd,[3,3])},fetch_list=[cur,acc])
            log.put('%s/%s/%d' % (ap, ed, step), np.array([np.array(r[0]).ravel()[0],np.array(r[1]).ravel()[0]]))
        e.reset(exe)
        r=exe.run(main,feed={'det':lod(d,[5,5]),'lab':lod(gl,[3,3]),'box':lod(gb,[3,3]),'dif':lod(gd,[3,3])},fetch_list=[cur,acc])
        log.put('%s/%s/reset' % (ap, ed), np.array([np.array(r[0]).ravel()[0],np.array(r[1]).ravel()[0]]))
finish(__file__, __doc__, log)
