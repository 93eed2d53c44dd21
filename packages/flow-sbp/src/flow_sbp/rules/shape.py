"""Sharding rules of ops that rearrange elements: dims that stay whole under the op can be split."""

from flow_sbp.rules.dims import local_shape, names, text
from flow_sbp.signature import Rule

LINEAR = ((0,),)


def reshape(x, shape):
    """Dims that the new shape keeps, one for one, can be split; those that merge or break up must be whole."""
    dims, out, fresh, whole = names(x), [], [], []
    for group, sizes in factor_groups(x.shape, shape):
        if [x.shape[d] for d in group] == list(sizes) and len(group) == 1:
            out.append(dims[group[0]])
            continue
        whole += [dims[d] for d in group]
        for n in sizes:
            fresh.append((f"n{len(out)}", n))
            out.append(fresh[-1][0])
    return Rule(text([dims], [out]), LINEAR, whole=tuple(whole), fresh=tuple(fresh))


def factor_groups(old, new):
    """Pairs of (dims of `old`, sizes of `new`) that hold the same elements: the finest such cut of both shapes.

    Dims of size 1 are groups of their own, so that they come and go beside dims that stay. Where there are no elements, sizes cannot
    tell what stays: all that follows the first dims that agree is one group.
    """
    if 0 in old:
        i = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        rest = [(list(range(i, len(old))), list(new[i:]))] if i < max(len(old), len(new)) else []
        return [([d], [old[d]]) for d in range(i)] + rest
    groups, i, j = [], 0, 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            groups.append(([i], [new[j]]))
            i, j = i + 1, j + 1
            continue
        if i < len(old) and old[i] == 1:
            groups.append(([i], []))
            i += 1
            continue
        if j < len(new) and new[j] == 1:
            groups.append(([], [1]))
            j += 1
            continue
        dims, sizes = [i] if i < len(old) else [], [new[j]] if j < len(new) else []
        left, right = (old[i] if dims else 1), (new[j] if sizes else 1)
        i, j = i + 1, j + 1
        while left != right:
            if (left < right and i < len(old)) or j >= len(new):
                left *= old[i]
                dims.append(i)
                i += 1
            else:
                right *= new[j]
                sizes.append(new[j])
                j += 1
        groups.append((dims, sizes))
    return groups


def permute(x, dims):
    factors = names(x)
    return Rule(text([factors], [[factors[d] for d in dims]]), LINEAR)


def transpose(x, dim0, dim1):
    order = list(range(len(x.shape)))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(x, order)


def expand(x, shape):
    """The dims that are repeated are whole on every rank: it has all there is to know of them."""
    lead = len(shape) - len(x.shape)
    dims = ["1" if n == 1 else f"d{i}" for i, n in enumerate(x.shape)]
    out = [f"n{i}" if i < lead or (x.shape[i - lead] == 1 and n != 1) else dims[i - lead] for i, n in enumerate(shape)]
    fresh = tuple((name, n) for name, n in zip(out, shape, strict=True) if name.startswith("n"))
    return Rule(text([dims], [out]), LINEAR, fresh=fresh)


def cat(*tensors, dim):
    first = max(tensors, key=lambda t: len(t.shape))
    others = [name for d, name in enumerate(names(first)) if d != dim]
    joins = [len(t.shape) == len(first.shape) for t in tensors]  # the rest are vectors of no elements
    inputs = [[*others[:dim], f"c{i}", *others[dim:]] if join else [f"c{i}"] for i, join in enumerate(joins)]
    total = sum(t.shape[dim] for t, join in zip(tensors, joins, strict=True) if join)
    joined = (tuple(range(len(tensors))),)
    whole = tuple(f"c{i}" for i in range(len(tensors)))
    return Rule(text(inputs, [[*others[:dim], "n", *others[dim:]]]), joined, whole=whole, fresh=(("n", total),))


def split_sizes(x, sizes, dim):
    dims = names(x)
    outs = [[*dims[:dim], f"n{i}", *dims[dim + 1 :]] for i in range(len(sizes))]
    fresh = tuple((f"n{i}", n) for i, n in enumerate(sizes))
    return Rule(text([dims], outs), LINEAR, whole=(dims[dim],), fresh=fresh)


RULES = {
    "reshape": reshape,
    "permute": permute,
    "transpose": transpose,
    "expand": expand,
    "cat": cat,
    "split_sizes": split_sizes,
}
LOCAL = {"reshape": local_shape, "expand": local_shape}
