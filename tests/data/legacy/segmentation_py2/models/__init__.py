import unet, deeplab
from backbone import net
def get(name, **kw):
    for m in unet, deeplab:
        if m.__name__.split('.')[-1] == name: return getattr(m, name.capitalize())(**kw)
    raise LookupError, name
