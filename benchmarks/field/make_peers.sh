#!/bin/sh
# Make one environment for each peer from PyPI: make_peers.sh FOLDER [PEER...]
# A peer that does not install is reported and left out. The real Fluid 1.8.5 needs a CPython 3.7 in $PYTHON37.
folder=${1:?usage: make_peers.sh FOLDER [PEER...]}
shift
python=${PEERS_PYTHON:-python3.11}
requirements() {
    case "$1" in
        arrayrecord) echo "array-record numpy" ;;
        datasets) echo "datasets numpy" ;;
        ffcv) echo "ffcv numpy torch==2.13.0" ;;
        fluid185) echo "paddlepaddle==1.8.5 numpy==1.19.5 protobuf==3.19.6" ;;
        litdata) echo "litdata numpy torch==2.13.0" ;;
        mindspore) echo "mindspore==2.10.0 setuptools" ;;
        mosaicml) echo "mosaicml-streaming numpy torch==2.13.0 setuptools<81" ;;
        mxnet) echo "mxnet==1.9.1 numpy<1.24" ;;
        parquet) echo "pyarrow numpy" ;;
        paddle3) echo "paddlepaddle==3.3.1 setuptools" ;;
        pyrecordio) echo "pyrecordio==0.0.4 numpy crc32c python-snappy setuptools<81" ;;
        safetensors) echo "safetensors numpy" ;;
        tensorflow) echo "tensorflow-cpu" ;;
        torch) echo "torch==2.13.0 numpy" ;;
        webdataset) echo "webdataset numpy torch==2.13.0" ;;
        *) return 1 ;;
    esac
}
for peer in ${*:-arrayrecord datasets ffcv litdata mosaicml mxnet parquet pyrecordio safetensors tensorflow torch paddle3 webdataset \
    mindspore fluid185}; do
    needs=$(requirements "$peer") || { echo "unknown peer $peer"; continue; }
    maker=$python
    [ "$peer" = fluid185 ] && maker=${PYTHON37:-python3.7}
    [ -x "$folder/$peer/bin/python" ] || "$maker" -m venv "$folder/$peer"
    set -f
    # shellcheck disable=SC2086
    if "$folder/$peer/bin/pip" install -q $needs >"$folder/$peer.log" 2>&1; then echo "ok   $peer"; else
        echo "FAIL $peer: $(grep -m1 ERROR "$folder/$peer.log")"
    fi
    set +f
done
