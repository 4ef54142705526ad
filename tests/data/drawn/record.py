"""Run the cases of a group on the real 1.8.5 and store what it gave: `fluid185 record.py GROUP...`."""
import importlib
import json
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import numpy as np
import paddle.fluid as fluid
import caselib


def record(group):
    module = importlib.import_module(group)
    arrays, cases = {}, []
    only = os.environ.get("ONLY")
    for c in module.cases():
        if only and only not in c["name"]:
            continue
        try:
            got = caselib.run(fluid, c)
        except Exception as error:
            lines = [l for l in str(error).splitlines() if "Error" in l or "Hint" in l] or [str(error)]
            print("RAISES", c["name"], type(error).__name__, " | ".join(lines)[:600])
            if os.environ.get("TRACE"):
                traceback.print_exc()
            continue
        n = len(cases)
        entry = {"name": c["name"], "code": c["code"], "wrt": c["wrt"], "batch": c["batch"], "feeds": [], "grads": [],
                 "lods": [lod for _, lod in got["outs"]], "declared": got["declared"], "ops": got["ops"],
                 "params": got["params"], "grad_types": got["grad_types"], "scope": []}
        for k in ("through", "hollow", "values", "free"):
            if k in c:
                entry[k] = c[k]
        for k, v in c["feeds"].items():
            entry["feeds"].append([k, [list(map(int, level)) for level in v[1:]]])
            arrays["%d/feed/%s" % (n, k)] = v[0]
        for k, v in c.get("scope", {}).items():
            entry["scope"].append(k)
            arrays["%d/scope/%s" % (n, k)] = v
        for i, (a, _) in enumerate(got["outs"]):
            arrays["%d/out/%d" % (n, i)] = a
        for k, a in got["grads"].items():
            entry["grads"].append(k)
            arrays["%d/grad/%s" % (n, k)] = a
        cases.append(entry)
        print("ok", c["name"], [a.shape for a, _ in got["outs"]], sorted(got["grads"]), entry["lods"])
    arrays["cases"] = np.frombuffer(json.dumps(cases, sort_keys=True).encode(), np.uint8)
    if not only:
        np.savez_compressed(os.path.join(os.environ.get("DRAWN_OUT", HERE), group + ".npz"), **arrays)
    print(group, len(cases), "cases")


for group in sys.argv[1:]:
    record(group)
