"""Regions of feature maps pooled: outputs and gradients of roi_pool and roi_align."""
import numpy as np
import paddle.fluid as fluid
from goldenlib import Log, finish

L=fluid.layers
log = Log()
def lod(a, lens): return fluid.create_lod_tensor(a,[lens],fluid.CPUPlace())
exe=fluid.Executor(fluid.CPUPlace())
rng=np.random.RandomState(3)
x0=rng.randn(2,3,8,10).astype('float32')
c=rng.rand(5,2)*[40,30]; s=rng.rand(5,2)*20+1
rois=np.concatenate([c-s/2,c+s/2],1).astype('float32'); rois[0]=[-5,-3,100,100]; rois[4]=[70,50,80,60]
for tag,fn in (('pool',lambda x,r: L.roi_pool(x,r,2,3,0.25)),('align',lambda x,r: L.roi_align(x,r,2,3,0.25,2)),('align_auto',lambda x,r: L.roi_align(x,r,2,2,0.25))):
    main=fluid.Program()
    with fluid.program_guard(main,fluid.Program()), fluid.unique_name.guard():
        x=L.data('x',[3,8,10],stop_gradient=False); r=L.data('r',[4],lod_level=1)
        o=fn(x,r); g=fluid.gradients([L.reduce_sum(L.square(o))],[x])
    for k,v in zip(('out','gx'),exe.run(main,feed={'x':x0,'r':lod(rois,[2,3])},fetch_list=[o]+g)): log.put(tag + '/' + k, v)
finish(__file__, __doc__, log, rtol=5e-5, atol=5e-6)
