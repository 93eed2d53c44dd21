"""einsum and tensordot: sums of products over named dims, by one batched matrix product for each pair of operands."""

from flow_core.dtype import promote
from flow_core.functions.triangles import diagonal
from flow_core.ops import elementwise, linalg, reduce, shape
from flow_core.spec import as_dim, num_elements

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(equation, *operands):
    """The sum of products that `equation` spells, as in einsum("bik,bkj->bij", x, y).

    Each operand has a letter a dim; letters that the output lacks are summed over; one met twice in an operand is its diagonal.
    "..." stands for dims that broadcast. Without an arrow the output has the letters met once, in order of the alphabet, after "...".
    Also as einsum(x, [0, 1], y, [1, 2], [0, 2]), numbers for letters. ValueError for an equation that does not fit the operands.
    """
    equation, operands = as_equation(equation, operands)
    terms, output = parse(equation, operands)
    sizes = sizes_of(equation, terms, operands)
    parts = [simplified(t, x, sizes) for t, x in zip(terms, operands, strict=True)]
    term, x = parts[0]
    for i, (other, y) in enumerate(parts[1:], 1):
        later = {*output, *[letter for t, _ in parts[i + 1 :] for letter in t]}
        term, x = contracted(term, x, other, y, later)
    dropped = [d for d, letter in enumerate(term) if letter not in output]
    x = total(x, tuple(dropped)) if dropped else x
    term = [letter for letter in term if letter in output]
    x = shape.permute(x, dims=tuple(term.index(letter) for letter in output))
    return x


def as_equation(equation, operands):
    """The equation as a string and the operands as a list, from either way of writing."""
    if isinstance(equation, str):
        several = operands and isinstance(operands[0], (list, tuple))
        return equation, list(operands[0] if several else operands)
    args = [equation, *operands]
    output = args.pop() if len(args) % 2 else None
    lists = [*args[1::2], *([output] if output is not None else [])]

    def spelled(numbers):
        if any(n is not ... and (not isinstance(n, int) or not 0 <= n < len(LETTERS)) for n in numbers):
            raise ValueError(f"einsum: {list(numbers)} holds no numbers from 0 to {len(LETTERS) - 1}")
        return "".join("..." if n is ... else LETTERS[n] for n in numbers)

    texts = [spelled(numbers) for numbers in lists]
    arrow = "" if output is None else "->" + texts.pop()
    return ",".join(texts) + arrow, args[::2]


def parse(equation, operands):
    """The letters of each operand and of the output; dims of "..." have the letters (0, 1), (0, 2), ... counted from the end."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    words = left.split(",")
    if len(words) != len(operands) or not operands:
        raise ValueError(f"einsum: {equation!r} has {len(words)} operands, {len(operands)} given")
    for word in (*words, *([right] if arrow else [])):
        letters = word.replace("...", "", 1)
        if any(c not in LETTERS for c in letters):
            raise ValueError(f'einsum: {word!r} in {equation!r} holds more than letters and one "..."')
    terms = []
    for word, x in zip(words, operands, strict=True):
        named = len(word.replace("...", ""))
        rest = x.ndim - named
        if rest < 0 or (rest and "..." not in word):
            raise ValueError(f"einsum: {word!r} in {equation!r} names {named} dims of {x.spec}")
        terms.append(spread(word, rest))
    widest = max([len([c for c in t if isinstance(c, tuple)]) for t in terms])
    if arrow:
        output = spread(right, widest)
        if len(set(output)) != len(output):
            raise ValueError(f"einsum: the output {right!r} of {equation!r} names a dim twice")
        if unknown := sorted({c for c in output if isinstance(c, str)} - {c for t in terms for c in t}):
            raise ValueError(f"einsum: no operand of {equation!r} has the output's {', '.join(unknown)}")
    else:
        letters = [c for t in terms for c in t if isinstance(c, str)]
        # The alphabet of numbers has capitals first, and so has ASCII.
        once = sorted({c for c in letters if letters.count(c) == 1})
        output = [*spread("...", widest), *once]
    return terms, output


def spread(word, rest):
    """The letters of a word with `rest` dims for its "..."."""
    before, dots, after = word.partition("...")
    return [*before, *[(0, rest - i) for i in range(rest)], *after] if dots else list(before)


def sizes_of(equation, terms, operands):
    """The size of each letter; 1 broadcasts."""
    sizes = {}
    for term, x in zip(terms, operands, strict=True):
        for letter, n in zip(term, x.shape, strict=True):
            known = sizes.setdefault(letter, n)
            if n not in (known, 1) and known != 1:
                raise ValueError(f"einsum: {letter} in {equation!r} has sizes {known} and {n}")
            sizes[letter] = n if known == 1 else known
    return sizes


def simplified(term, x, sizes):
    """A term without repeated letters and without dims of size 1 that broadcast: (letters, tensor)."""
    term = list(term)
    for letter in set(term):
        while term.count(letter) > 1:
            i = term.index(letter)
            j = term.index(letter, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ValueError(f"einsum: {letter} names dims of sizes {x.shape[i]} and {x.shape[j]} of {x.spec}")
            rest = [d for d in range(x.ndim) if d not in (i, j)]
            x = diagonal(shape.permute(x, dims=(*rest, i, j)))
            term = [term[d] for d in rest] + [letter]
    broadcast = [d for d, letter in enumerate(term) if x.shape[d] == 1 and sizes[letter] != 1]
    if broadcast:
        x = shape.squeeze(x, dim=tuple(broadcast))
        term = [letter for d, letter in enumerate(term) if d not in broadcast]
    return term, x


def contracted(a, x, b, y, later):
    """The product of two terms, summed over the letters that are not needed `later`: (letters, tensor)."""
    x, a = summed(x, a, {*b} | later)
    y, b = summed(y, b, {*a} | later)
    both = [c for c in a if c in b]
    batch, inner = [c for c in both if c in later], [c for c in both if c not in later]
    left, right = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(a, x.shape, strict=True)), **dict(zip(b, y.shape, strict=True))}
    count = [num_elements([size[c] for c in group]) for group in (batch, left, inner, right)]
    dtype = promote(x.dtype, y.dtype)
    x, y = (t if t.dtype is dtype else elementwise.cast(t, dtype=dtype) for t in (x, y))
    x = shape.permute(x, dims=tuple(a.index(c) for c in (*batch, *left, *inner)))
    y = shape.permute(y, dims=tuple(b.index(c) for c in (*batch, *inner, *right)))
    x = shape.reshape(x, shape=(count[0], count[1], count[2]))
    y = shape.reshape(y, shape=(count[0], count[2], count[3]))
    out = linalg.matmul(x, y) if inner else elementwise.mul(x, y)
    letters = [*batch, *left, *right]
    return letters, shape.reshape(out, shape=tuple(size[c] for c in letters))


def summed(x, letters, needed):
    """x summed over the letters that nobody needs."""
    dims = tuple(d for d, c in enumerate(letters) if c not in needed)
    return (total(x, dims) if dims else x), [c for c in letters if c in needed]


def total(x, dims, keepdim=False):
    """The sum in x's dtype, of integers too."""
    out = reduce.sum(x, dim=dims, keepdim=keepdim)
    return out if out.dtype is x.dtype else elementwise.cast(out, dtype=x.dtype)


def tensordot(a, b, dims=2):
    """The sums of products over dims of a and of b: the last `dims` of a with the first of b, or two lists of dims."""
    if isinstance(dims, int) and not isinstance(dims, bool):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ValueError(
                f"tensordot: dims is {dims}, expected 0 to {min(a.ndim, b.ndim)} for {a.spec} and {b.spec}"
            )
        over_a, over_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        over_a, over_b = dims.tolist() if hasattr(dims, "spec") else dims
        over_a, over_b = ([d] if isinstance(d, int) else list(d) for d in (over_a, over_b))
        over_a = [as_dim("tensordot", d, a.ndim) for d in over_a]
        over_b = [as_dim("tensordot", d, b.ndim) for d in over_b]
    if len(over_a) != len(over_b) or len(set(over_a)) != len(over_a) or len(set(over_b)) != len(over_b):
        raise ValueError(f"tensordot: dims {over_a} and {over_b} do not pair up")
    letters = [("a", d) for d in range(a.ndim)]
    others = [("b", d) for d in range(b.ndim)]
    for i, j in zip(over_a, over_b, strict=True):
        n, m = a.shape[i], b.shape[j]
        if n != m and 1 not in (n, m):
            raise ValueError(f"tensordot: dim {i} of {a.spec} and dim {j} of {b.spec} differ: {n} and {m}")
        a = total(a, i, True) if m == 1 else a
        b = total(b, j, True) if n == 1 else b
        others[j] = letters[i]
    output = [c for c in letters if c not in others] + [c for c in others if c not in letters]
    found, x = contracted(letters, a, others, b, set(output))
    assert found == output
    return x
