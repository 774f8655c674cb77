import sys, h5py, numpy as np

def nibbles(words, k):  # uint32 [k/8, n] -> codes [k, n]: nibble p of a word holds row p, lowest first
    at = np.arange(0, 32, 4, dtype=np.uint32)[None, :, None]
    return ((words[:, None, :] >> at) & 15).reshape(-1, words.shape[1])[:k].astype(np.float32)

def kernel(x, codes, scale, zero, group):  # zero: uint32 [groups, n/8], stored minus one
    k, n = x.shape[1], codes.shape[1]
    at = np.arange(0, 32, 4, dtype=np.uint32)[None, None, :]
    z = ((zero[:, :, None] >> at) & 15).reshape(zero.shape[0], -1)[:, :n].astype(np.float32) + 1
    rows = np.arange(k) // group  # which scale and zero belong to each k
    w = (nibbles(codes, k) - z[rows]) * scale[rows].astype(np.float32)
    return x.astype(np.float32) @ w

with h5py.File(sys.argv[1], "r+") as bundle, np.errstate(all="ignore"):
    for case in bundle["cases"].values():
        x, codes, scale, zero = (case[name][...] for name in ("x", "codes", "scale", "zero"))
        y = kernel(x, codes, scale, zero, case.attrs["group"])
        case["y"][...] = y.astype(case["y"].dtype)
